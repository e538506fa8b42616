-- Takes away what setup.sql has made. Before that, `powersync teardown TEARDOWN` drops the replication slots:
--
--   psql postgresql://postgres@localhost:5432/app -f Examples/postgres/teardown.sql
\set ON_ERROR_STOP on

DROP DATABASE powersync_storage;
DROP PUBLICATION powersync;
DROP TABLE todos, lists;
REVOKE ALL ON SCHEMA public FROM powersync;
DROP ROLE powersync;
