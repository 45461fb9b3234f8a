-- Takes a script out of force. No row processed: none was.
-- $1 script name
update rea.script s set active = false where s.script_name = $1 and s.active
