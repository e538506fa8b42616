/// Connections of the type `postgresql` that are refused.
package enum RefusedConnection {
    /// A file with a connection.
    package static func yaml(_ connection: String) -> String {
        """
        replication: {connections: [{type: postgresql, \(connection)}]}
        storage: {type: sqlite, path: data/buckets.db}
        sync_config: {content: "streams: {}"}
        client_auth: {audience: [a], jwks: {keys: [{kty: oct, alg: HS256, kid: dev, k: c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTMy}]}}
        """
    }

    /// Connections that are refused, with the key and what is said about it.
    package static let all = [
        ("uri: postgresql://u@h/d, sslmode: require, sslmod: x", "sslmod", "unknown key. Did you mean “sslmode”?"),
        ("uri: 'postgresql://u:a@b@h/d'", "uri", "write %40 for each @"),
        ("uri: 'postgresql://u:a/b@h/d'", "uri", "%2F for each /"),
        ("uri: 'mysql://u:p@h/d'", "uri", "begins with mysql://"),
        ("uri: 'postgresql://u@h/d?ssl=1'", "uri", "sslmode=verify-full"),
        ("uri: 'postgresql://u@h/d?schema=app'", "uri", "write the schema in the queries"),
        ("hostname: 'postgresql://u:p@h/d', username: u, database: d", "hostname", "write it as uri"),
        ("hostname: h, username: u, database: 'postgresql://u:p@h/d'", "database", "write it as uri"),
        ("uri: 'postgresql://u:[YOUR-PASSWORD]@h/d'", "uri", "its password is a placeholder"),
        ("username: u, database: d", "hostname", "missing"), ("hostname: h, database: d", "username", "missing"),
        ("hostname: h, username: u", "database", "missing"),
        ("uri: 'http://u@h/d'", "uri", "write postgresql://"), ("uri: 'postgresql://u:p%zz@h/d'", "uri", "%40"),
        ("uri: 'postgresql://u@h/d?what=1'", "uri", "not a connection URI"),
        ("uri: 'postgresql://u@h:x/d'", "uri", "the port is not a number"),
        ("uri: postgresql://u@h/d, sslmode: maybe", "sslmode", "verify-full, verify-ca, require, disable"),
        ("uri: postgresql://u@h/d, port: 0", "port", "between 1 and 65535"),
        ("uri: postgresql://u@h/d, max_pool_size: 0", "max_pool_size", "between 1 and 1000"),
        ("uri: postgresql://u@h/d, connect_timeout: 1.5", "connect_timeout", "between 1 and 3600"),
        (
            "uri: postgresql://u@h/d, heartbeat_interval_seconds: 61", "heartbeat_interval_seconds",
            "between 5 and 60"
        ),
        ("uri: postgresql://u@h/d, cacert: nowhere.pem", "cacert", "cannot be read; give PEM, or the path"),
        (
            "uri: postgresql://u@h/d, sslmode: require, client_certificate: /dev/null", "client_private_key",
            "client_certificate and client_private_key"
        ),
        (
            "uri: postgresql://u@h/d, sslmode: require, client_private_key: /dev/null", "client_certificate",
            "client_certificate and client_private_key"
        ),
        ("uri: postgresql://u@h/d, sslmode: require, tls_servername: x", "tls_servername", "is an address"),
        ("uri: postgresql://u@h/d, sslmode: disable, slot_name_prefix: Ab", "slot_name_prefix", "lower case"),
        ("uri: postgresql://u@h/d, sslmode: disable, slot_name_prefix: ''", "slot_name_prefix", "1 to 32"),
        (
            "uri: postgresql://u@h/d, sslmode: disable, reject_ip_ranges: [10.0.0.0/40]", "reject_ip_ranges",
            "\"10.0.0.0/40\" is not an address range"
        ),
    ]
}
