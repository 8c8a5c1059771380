-- The server's version as one number: 180001 is 18.1.
select json_build_object('version', current_setting('server_version_num')::integer) as row
