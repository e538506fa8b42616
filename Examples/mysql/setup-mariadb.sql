-- The account of the service, for MariaDB; README.md puts a password in. For a server on another machine: REQUIRE SSL.
CREATE USER 'powersync'@'%' IDENTIFIED BY 'the password';
GRANT REPLICATION SLAVE, BINLOG MONITOR, SLAVE MONITOR, PROCESS ON *.* TO 'powersync'@'%';
GRANT SELECT ON powersync_example.* TO 'powersync'@'%';
