-- Lets one session at a time change workflows and routes; reading them goes on.
lock table rea.workflow, rea.route in share row exclusive mode
