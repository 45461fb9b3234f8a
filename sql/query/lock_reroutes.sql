-- Lets one session at a time route events anew; reading goes on.
lock table rea.work_reroute in share row exclusive mode
