import Foundation
package import Logging
import NIOCore
package import PowerSyncMySQLConnection

/// The server of `scripts/with-mysql`, or another one: where it is, and as whom.
package struct TestMySQL: Sendable {
    /// Why there is no server.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// Which servers `scripts/with-mysql` starts.
    package enum Kind: String, Sendable {
        /// The system's.
        case mariadb
        case mysql
        case newestMariaDB = "mariadb-newest"
    }

    /// The port of 127.0.0.1, or the host's.
    package var port: Int
    package var host: String
    /// An account with all privileges.
    package var username: String
    package var password: String

    package init(host: String = "127.0.0.1", port: Int, username: String = "tests", password: String = "tests") {
        self.host = host
        self.port = port
        self.username = username
        self.password = password
    }

    /// The server of `scripts/with-mysql`.
    ///
    /// - Throws: ``Failure``, which says what to do when there is none.
    package static func shared() throws -> TestMySQL {
        let uri = try environment("POWERSYNC_MYSQL")
        guard let parts = URLComponents(string: uri), let host = parts.host, let user = parts.user else {
            throw Failure(description: "POWERSYNC_MYSQL is not mysql://user:password@host:port")
        }
        return TestMySQL(host: host, port: parts.port ?? 3306, username: user, password: parts.password ?? "")
    }

    /// A value that `scripts/with-mysql` tells.
    package static func environment(_ name: String) throws -> String {
        guard let value = ProcessInfo.processInfo.environment[name] else {
            throw Failure(
                description: """
                    \(name) is not set. There is no MySQL or MariaDB server: `make test` starts one, and so does \
                    `scripts/with-mysql scripts/run-tests PowerSyncServiceMySQLTests`.
                    """
            )
        }
        return value
    }

    /// Which server `scripts/with-mysql` has started.
    package static var kind: Kind {
        get throws { Kind(rawValue: try environment("POWERSYNC_MYSQL_SERVER")) ?? .mariadb }
    }

    /// Whether it is MySQL, and not MariaDB.
    package static var isMySQL: Bool { (try? kind) == .mysql }

    /// Whether a server can encrypt its log: it has something that keeps the keys.
    package static var hasKeys: Bool { isMySQL || (try? environment("POWERSYNC_MYSQL_KEYS")) != nil }

    /// The authority of the servers' certificates, and the client's certificate.
    package static func tls(clientCertificate: Bool = false) throws -> MySQLConnectionSettings.TLS {
        let folder = try environment("POWERSYNC_MYSQL_FOLDER")
        func text(_ name: String) throws -> String { try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8) }
        return MySQLConnectionSettings.TLS(
            authority: try text("authority.pem"),
            clientCertificate: clientCertificate ? try text("client.pem") : nil,
            clientKey: clientCertificate ? try text("client.key") : nil
        )
    }

    /// Settings of a connection in plain text.
    package func settings(database: String? = nil) -> MySQLConnectionSettings {
        MySQLConnectionSettings(
            host: host,
            port: port,
            username: username,
            password: password,
            database: database,
            tls: .disabled
        )
    }

    /// The URI of a database, in the form of the service's configuration; connections to it are in plain text.
    package func uri(database: String) -> String { "mysql://\(username):\(password)@\(host):\(port)/\(database)" }

    /// Opens a connection.
    package func open(database: String? = nil) async throws -> MySQLConnection {
        try await MySQLConnection.open(settings(database: database), logger: Self.logger)
    }

    /// Deletes all files of the log but the newest.
    ///
    /// MariaDB keeps those that its engine may need after a crash, and says in the newest one (BINLOG_CHECKPOINT) when it does not.
    package func purgeLog() async throws {
        let connection = try await open()
        defer { connection.close() }
        let status = try await connection.query(Self.isMySQL ? "SHOW BINARY LOG STATUS" : "SHOW MASTER STATUS")
        guard let newest = status.rows.first?.string("File") else {
            throw Failure(description: "The server has no log")
        }
        if !Self.isMySQL {
            let reader = try await open()
            defer { reader.close() }
            let request = BinlogRequest(file: newest, serverID: 4_000_000_000, waits: true)
            try await reader.withBinlog(request) { packets in
                while let event = try await packets.next() {
                    let start = event.readerIndex
                    // Behind the header, of 19 bytes, the length of the name in four bytes, and the name.
                    guard event.getInteger(at: start + 4, as: UInt8.self) == 161,
                        event.getString(at: start + 23, length: newest.utf8.count) == newest
                    else { continue }
                    return
                }
            }
        }
        try await connection.execute("PURGE BINARY LOGS TO '\(newest)'")
    }

    /// Reads the begin of the newest file of the log, as it is read to tell the file from others: a short dump that waits for nothing.
    package func readBeginOfLog() async throws {
        let connection = try await open()
        defer { connection.close() }
        let status = try await connection.query(Self.isMySQL ? "SHOW BINARY LOG STATUS" : "SHOW MASTER STATUS")
        guard let file = status.rows.first?.string("File") else {
            throw Failure(description: "The server has no log")
        }
        try await connection.withBinlog(BinlogRequest(file: file, waits: false)) { packets in
            _ = try await packets.next()
        }
    }

    /// Waits until an event of some type has been written to the log after the end that it has when this is called.
    ///
    /// - Parameters:
    ///   - type: The number of the type.
    ///   - body: Has it written.
    /// - Throws: What `body` throws, and errors of the server.
    package func eventInLog(ofType type: UInt8, _ body: () async throws -> Void) async throws {
        let connection = try await open()
        defer { connection.close() }
        let status = try await connection.query(Self.isMySQL ? "SHOW BINARY LOG STATUS" : "SHOW MASTER STATUS")
        guard let row = status.rows.first, let file = row.string("File"), let end = row.integer("Position") else {
            throw Failure(description: "The server has no log")
        }
        try await body()
        let request = BinlogRequest(
            file: file,
            position: UInt32(end),
            serverID: .random(in: 4_000_000_000...4_100_000_000),
            waits: true
        )
        try await connection.withBinlog(request) { packets in
            while let event = try await packets.next() {
                if event.getInteger(at: event.readerIndex + 4, as: UInt8.self) == type { return }
            }
        }
    }

    /// Says nothing.
    package static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
}
