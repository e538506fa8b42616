import Foundation
import TestSupport

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A PgBouncer before the server of `scripts/with-postgres`, on a socket in a folder of its own: it has no port.
///
/// It ends with the last reference to it.
package final class TestPooler: Sendable {
    /// For how long a client has a session of the server.
    package enum Mode: String, Sendable, CaseIterable {
        case session, transaction, statement
    }

    /// Whether tests are to do without: who has no proxies says so.
    package static let isUnwanted = ProcessInfo.processInfo.environment["POWERSYNC_NO_PROXIES"] != nil

    private let folder: String
    private let server: (host: String, port: Int)
    private let process: DependentProcess

    /// Starts a pooler.
    ///
    /// - Parameter mode: Its `pool_mode`.
    /// - Throws: ``TestDatabase/Failure``, which says what to do when there is no PgBouncer or no server.
    package init(_ mode: Mode) throws {
        guard let text = ProcessInfo.processInfo.environment["POWERSYNC_POSTGRES"],
            let url = URLComponents(string: text),
            let host = url.host, let port = url.port
        else { throw TestDatabase.Failure(description: "There is no PostgreSQL server: `make test` starts one.") }
        server = (host, port)
        let system = ["/usr/sbin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/"].map { "\($0)pgbouncer" }
        // `scripts/with-postgres --newest` names another one.
        let program = (ProcessInfo.processInfo.environment["POWERSYNC_PGBOUNCER"].map { [$0] } ?? system).first {
            FileManager.default.isExecutableFile(atPath: $0)
        }
        guard let program else {
            throw TestDatabase.Failure(
                description: """
                    There is no PgBouncer: scripts/install-system-packages installs it on Debian; POWERSYNC_NO_PROXIES=1 leaves \
                    out the tests that need one.
                    """
            )
        }
        // Short: the path of a socket has 107 bytes at most.
        folder = NSTemporaryDirectory() + "/ps-pooler-\(String(UInt32.random(in: .min ... .max), radix: 36))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try #""postgres" """#.write(toFile: "\(folder)/users", atomically: true, encoding: .utf8)
        try Self.configure(mode, folder, server)
        var command = [program, "\(folder)/pooler.ini"]
        if getuid() == 0 {
            // It refuses to run as root.
            guard let user = getpwnam("postgres") else {
                throw TestDatabase.Failure(
                    description: "This is root, and there is no user 'postgres' to run PgBouncer as."
                )
            }
            _ = chown(folder, user.pointee.pw_uid, user.pointee.pw_gid)
            command = ["/usr/bin/setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] + command
        }
        process = try DependentProcess(command)
        var output = ""
        // What it says when it listens. It says little afterwards, which nobody reads.
        while !output.contains("process up") {
            let data = process.output.availableData
            guard !data.isEmpty else {
                throw TestDatabase.Failure(description: "PgBouncer does not start: \(output)")
            }
            output += String(decoding: data, as: UTF8.self)
        }
    }

    deinit {
        process.end()
        try? FileManager.default.removeItem(atPath: folder)
    }

    private static func configure(_ mode: Mode, _ folder: String, _ server: (host: String, port: Int)) throws {
        try """
        [databases]
        * = host=\(server.host) port=\(server.port)
        [pgbouncer]
        unix_socket_dir = \(folder)
        unix_socket_mode = 0777
        listen_addr =
        listen_port = 6432
        auth_type = trust
        auth_file = \(folder)/users
        admin_users = postgres
        pool_mode = \(mode.rawValue)
        default_pool_size = 50
        max_client_conn = 200
        log_connections = 0
        log_disconnections = 0
        log_pooler_errors = 0
        log_stats = 0

        """.write(toFile: "\(folder)/pooler.ini", atomically: false, encoding: .utf8)
    }

    /// How to connect to a database through it.
    package func uri(of database: String) -> String {
        "postgresql://postgres@\(folder.replacing("/", with: "%2F")):6432/\(database)"
    }

    /// Whether sessions may be replication connections: from version 1.23 on.
    package var carriesReplication: Bool {
        get throws {
            // PgBouncer 1.26.1
            let text = try Session(uri(of: "pgbouncer")).run("SHOW VERSION").first?.first.flatMap { $0 } ?? ""
            let numbers = text.split { !$0.isNumber }.compactMap { Int($0) }
            return !numbers.lexicographicallyPrecedes([1, 23])
        }
    }

    /// Changes its mode while it runs (`RELOAD`): each client keeps the session that it has until the end of the next transaction.
    package func change(to mode: Mode) throws {
        try Self.configure(mode, folder, server)
        try Session(uri(of: "pgbouncer")).run("RELOAD")
    }

    /// Closes all connections to the server that nobody uses, with what was set and locked on them.
    package func reconnect() throws {
        let console = try Session(uri(of: "pgbouncer"))
        try console.run("RECONNECT")
        try console.run("WAIT_CLOSE")
    }
}
