import Foundation
import NIOConcurrencyHelpers
import TestSupport

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A PostgreSQL server of its own, which can be stopped and started.
///
/// It is stopped and removed with the last reference to it.
///
/// Commands run by `posix_spawn`: Foundation's `Process` waits for the server that `pg_ctl` leaves behind, too.
package final class TestCluster: Sendable {
    /// How a server is stopped.
    package enum Shutdown: String, Sendable, CaseIterable {
        /// Connections are closed.
        case fast
        /// As by a power failure.
        case immediate
    }

    /// How a server comes back with the files that were kept.
    package enum Return: String, Sendable, CaseIterable {
        /// As they were.
        case putBack
        /// As a standby that had got no further is promoted, with its slots: its log is another timeline.
        case promoted
        /// As from a backup, which has no slots: its log is another timeline, too.
        case restored
    }

    /// What is encrypted: connections need a certificate of the cluster's authority then.
    package struct Certificates: Sendable {
        /// The authority of both certificates.
        package let authority: String
        /// For the role `postgres`.
        package let client: String
        /// The key of `client`.
        package let clientKey: String

        fileprivate init(folder: String) {
            authority = "\(folder)/authority.crt"
            client = "\(folder)/client.crt"
            clientKey = "\(folder)/client.key"
        }
    }

    private let folder: String
    /// Its port, the same after every start.
    private let taken = NIOLockedValueBox(FreePort.take())
    private var port: Int { taken.withLockedValue { $0 } }
    /// The port of the standby that runs.
    private let standbyPort = NIOLockedValueBox<Int?>(nil)
    private let bin: String
    /// The files for clients, if connections are encrypted.
    package let certificates: Certificates?

    /// Makes a cluster and starts it.
    ///
    /// - Parameter isEncrypted: Whether connections are encrypted, and clients have certificates. The certificate of the server
    ///   is for `localhost`. It is made by the command `openssl`.
    /// - Throws: ``TestDatabase/Failure``
    package init(isEncrypted: Bool = false) throws {
        guard let bin = ProcessInfo.processInfo.environment["POWERSYNC_POSTGRES_BIN"] else {
            throw TestDatabase.Failure(
                description: """
                    The programs of PostgreSQL are not known: `make test` and `scripts/with-postgres` say where they are, \
                    in POWERSYNC_POSTGRES_BIN.
                    """
            )
        }
        self.bin = bin
        folder = NSTemporaryDirectory() + "/powersync-cluster-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        certificates = isEncrypted ? Certificates(folder: folder) : nil
        if isEncrypted { try Self.makeCertificates(folder) }
        if getuid() == 0 { try Self.run("chown -R postgres '\(folder)'") }
        try runAsServer(
            "'\(bin)/initdb' --pgdata='\(folder)/data' --username=postgres --auth=trust --no-sync --locale=C.UTF-8"
        )
        let settings = """
            listen_addresses = '127.0.0.1'
            unix_socket_directories = ''
            wal_level = logical
            shared_buffers = 32MB
            max_wal_size = 128MB
            """
        let handle = FileHandle(forWritingAtPath: "\(folder)/data/postgresql.conf")
        try handle?.seekToEnd()
        try handle?.write(contentsOf: Data(settings.utf8))
        if isEncrypted { try handle?.write(contentsOf: Data(Self.encryption(folder).utf8)) }
        try handle?.close()
        try startOnFreePort()
    }

    /// Starts the server for the first time: another process of tests may have taken its port meanwhile.
    private func startOnFreePort() throws {
        for _ in 0..<4 {
            do {
                return try start()
            } catch let failure as TestDatabase.Failure where failure.description.contains("Address already in use") {
                taken.withLockedValue { $0 = FreePort.take() }
            }
        }
        try start()
    }

    private static func encryption(_ folder: String) -> String {
        // What clients may do is in a file of its own: nobody gets in without a certificate.
        """

        ssl = on
        ssl_cert_file = '\(folder)/server.crt'
        ssl_key_file = '\(folder)/server.key'
        ssl_ca_file = '\(folder)/authority.crt'
        hba_file = '\(folder)/hba.conf'
        """
    }

    /// An authority, and certificates of it for the server and the role `postgres`.
    private static func makeCertificates(_ folder: String) throws {
        let new = "openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -sha256"
        try run(
            """
            (cd '\(folder)' && echo 'hostssl all all 127.0.0.1/32 cert' > hba.conf && \
            \(new) -x509 -days 2 -subj /CN=authority -keyout authority.key -out authority.crt && \
            \(new) -subj /CN=localhost -keyout server.key -out server.csr && \
            \(new) -subj /CN=postgres -keyout client.key -out client.csr && \
            for name in server client; do \
                openssl x509 -req -days 2 -in $name.csr -CA authority.crt -CAkey authority.key -CAcreateserial \
                    -out $name.crt || exit 1; \
            done && chmod 600 server.key)
            """
        )
    }

    deinit {
        if standbyPort.withLockedValue({ $0 != nil }) { try? stopStandby(.immediate) }
        try? thaw()
        try? stop(.immediate)
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// The URI of the superuser.
    package var uri: String { "postgresql://postgres@127.0.0.1:\(port)/postgres" }

    /// The URI with the name of the server, as its certificate has it.
    package var namedURI: String { "postgresql://postgres@localhost:\(port)/postgres" }

    /// Starts the server, and waits until it can be used.
    package func start() throws {
        let command = """
            '\(bin)/pg_ctl' --pgdata='\(folder)/data' --log='\(folder)/log' --options='-p \(port)' --wait --timeout=30 start
            """
        for _ in 0..<2 where (try? runAsServer(command)) != nil { return }
        do {
            try runAsServer(command)
        } catch {
            throw TestDatabase.Failure(description: "\(error)\n\(endOfLog)")
        }
    }

    /// What the server has said last.
    package var endOfLog: Substring {
        (try? String(contentsOfFile: "\(folder)/log", encoding: .utf8))?.suffix(2000) ?? ""
    }

    /// Stops the server, and waits for its end.
    ///
    /// - Throws: When it does not end within 20 s.
    package func stop(_ shutdown: Shutdown) throws {
        try runAsServer(
            "'\(bin)/pg_ctl' --pgdata='\(folder)/data' --mode=\(shutdown.rawValue) --wait --timeout=20 stop"
        )
    }

    /// Keeps a copy of the files of the server, which is stopped meanwhile: a snapshot of its volume.
    package func keepFiles() throws {
        try stop(.fast)
        try runAsServer("rm -rf '\(folder)/kept' && cp -a '\(folder)/data' '\(folder)/kept'")
        try start()
    }

    /// Puts the files back that were kept.
    ///
    /// - Parameters:
    ///   - way: How the server comes back.
    ///   - body: Gets the URI of the superuser while the server runs on another port, before it is back on its own.
    /// - Throws: When it does not start, or what `body` throws.
    package func putFilesBack(_ way: Return = .putBack, _ body: ((_ uri: String) throws -> Void)? = nil) throws {
        try stop(.immediate)
        try runAsServer("rm -rf '\(folder)/data' && cp -a '\(folder)/kept' '\(folder)/data'")
        // Before its clients see it: until it is promoted, it can only be read.
        guard body != nil || way != .putBack else { return try start() }
        let own = port
        taken.withLockedValue { $0 = FreePort.take() }
        switch way {
        case .putBack: break
        case .promoted: try runAsServer("touch '\(folder)/data/standby.signal'")
        case .restored:
            try runAsServer("rm -rf '\(folder)'/data/pg_replslot/*")
            try runAsServer("touch '\(folder)/data/standby.signal'")
        }
        try startOnFreePort()
        if way != .putBack { try runAsServer("'\(bin)/pg_ctl' --pgdata='\(folder)/data' --wait --timeout=30 promote") }
        try body?(uri)
        try stop(.fast)
        taken.withLockedValue { $0 = own }
        try start()
    }

    // MARK: A standby

    /// The major version of the programs; `nil` when their folder does not tell.
    package static var version: Int? {
        ProcessInfo.processInfo.environment["POWERSYNC_POSTGRES_BIN"]
            .flatMap { $0.split(separator: "/").dropLast().last }
            .flatMap { Int($0) }
    }

    /// Makes a standby, which gets what is written from then on.
    ///
    /// - Throws: When it does not start.
    package func makeStandby() throws {
        try Session(uri).run("SELECT pg_create_physical_replication_slot('standby')")
        try runAsServer(
            """
            '\(bin)/pg_basebackup' --pgdata='\(folder)/standby' --dbname='\(uri)' --slot=standby --checkpoint=fast --no-sync
            """
        )
        var settings = "primary_conninfo = '\(uri)'\nprimary_slot_name = 'standby'\nhot_standby_feedback = on\n"
        if Self.version ?? 0 >= 17 { settings += "sync_replication_slots = on\n" }
        let handle = FileHandle(forWritingAtPath: "\(folder)/standby/postgresql.conf")
        try handle?.seekToEnd()
        try handle?.write(contentsOf: Data("\n\(settings)".utf8))
        try handle?.close()
        try runAsServer("touch '\(folder)/standby/standby.signal'")
        let port = FreePort.take()
        try runAsServer(
            """
            '\(bin)/pg_ctl' --pgdata='\(folder)/standby' --log='\(folder)/standby-log' --options='-p \(port)' --wait --timeout=30 \
            start
            """
        )
        standbyPort.withLockedValue { $0 = port }
    }

    /// Waits until the standby has on its disk what the server has on its own.
    package func waitForStandby() throws {
        try Session(uri).run(
            """
            DO $$ DECLARE reached pg_lsn := pg_current_wal_flush_lsn(); BEGIN
            WHILE NOT EXISTS (SELECT FROM pg_stat_replication WHERE application_name = 'walreceiver' AND flush_lsn >= reached)
            LOOP PERFORM pg_stat_clear_snapshot(); END LOOP; END $$
            """
        )
    }

    /// Whether the standby has a failover slot of the server, and keeps it when it is promoted.
    ///
    /// It takes one once the slot has come past what the standby began with, so that somebody has to read on.
    package func standbyHasSlot() throws -> Bool {
        guard let port = standbyPort.withLockedValue(\.self) else { return false }
        let session = try Session("postgresql://postgres@127.0.0.1:\(port)/postgres")
        return try !session.run("SELECT FROM pg_replication_slots WHERE synced AND NOT temporary").isEmpty
    }

    /// Stops the standby: it gets nothing any more.
    package func stopStandby(_ shutdown: Shutdown = .fast) throws {
        guard standbyPort.withLockedValue({ port in port.take() }) != nil else { return }
        try runAsServer(
            "'\(bin)/pg_ctl' --pgdata='\(folder)/standby' --mode=\(shutdown.rawValue) --wait --timeout=20 stop"
        )
    }

    /// The server ends, and its standby is promoted, with its address.
    ///
    /// A standby that runs has got everything.
    package func failOver() throws {
        try stop(.fast)
        try stopStandby()
        try runAsServer("rm -rf '\(folder)/data' && mv '\(folder)/standby' '\(folder)/data'")
        try start()
        try runAsServer("'\(bin)/pg_ctl' --pgdata='\(folder)/data' --wait --timeout=30 promote")
    }

    /// Stops all its processes, so that connections stay and nothing answers: like a machine that hangs.
    package func freeze() throws {
        try signal("STOP")
    }

    /// Lets it go on.
    package func thaw() throws {
        try signal("CONT")
    }

    private func signal(_ name: String) throws {
        // Those who start others first, so that none is left out.
        try Self.run(
            "server=$(head -n 1 '\(folder)/data/postmaster.pid') && kill -\(name) $server && pkill -\(name) -P $server"
        )
    }

    /// Changes a setting of the server that is running.
    package func set(_ name: String, to value: String) throws {
        try Session(uri).run("ALTER SYSTEM SET \(name) TO '\(value)'")
        try Session(uri).run("SELECT pg_reload_conf()")
    }

    private func runAsServer(_ command: String) throws {
        // The server refuses to run as root.
        let user = getuid() == 0 ? "setpriv --reuid=postgres --regid=postgres --init-groups " : ""
        try Self.run("cd '\(folder)' && \(user)\(command)")
    }

    private static func run(_ command: String) throws {
        var process = pid_t()
        let arguments = ["/bin/sh", "-c", "\(command) >/dev/null 2>&1 </dev/null"]
        var pointers = arguments.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        var status = posix_spawn(&process, "/bin/sh", nil, nil, &pointers, environ)
        if status == 0 {
            while waitpid(process, &status, 0) == -1, errno == EINTR {}
        }
        guard status == 0 else { throw TestDatabase.Failure(description: "\(command): status \(status)") }
    }
}
