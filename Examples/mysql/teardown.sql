-- Takes away what tables.sql and setup-mysql.sql or setup-mariadb.sql have made.
DROP DATABASE powersync_example;
DROP USER 'powersync'@'%';
