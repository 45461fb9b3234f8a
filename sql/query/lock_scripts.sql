-- Lets one session at a time change scripts; reading them goes on.
lock table rea.script in share row exclusive mode
