-- The account of the service, for MySQL; README.md puts a password in. For a server on another machine: REQUIRE SSL.
CREATE USER 'powersync'@'%' IDENTIFIED BY 'the password';
GRANT REPLICATION SLAVE, REPLICATION CLIENT, PROCESS ON *.* TO 'powersync'@'%';
GRANT SELECT ON powersync_example.* TO 'powersync'@'%';
