package import Foundation
import NIOConcurrencyHelpers
import PowerSyncMySQLConnection
import TestSupport

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A server of its own, of the kind of `scripts/with-mysql`, which can be stopped and started, and has other options.
///
/// It is ended and removed with the last reference to it.
package final class TestMySQLServer: Sendable {
    private struct State {
        var process: pid_t?
        var options: [String]
    }

    private let folder: String
    private let shared: String
    private let program: String
    private let state: NIOLockedValueBox<State>
    /// Its port, the same after every start.
    package let port: Int

    /// Makes a server and starts it.
    ///
    /// - Parameters:
    ///   - options: Of the server's program, such as `--binlog-do-db=app`; they win over `my.cnf`.
    ///   - comparesExactly: Whether names of tables in other case are other tables, as they are on Linux.
    /// - Throws: ``TestMySQL/Failure``
    package init(_ options: String..., comparingNamesExactly comparesExactly: Bool = true) async throws {
        program = try TestMySQL.environment("POWERSYNC_MYSQL_BIN")
        shared = try TestMySQL.environment("POWERSYNC_MYSQL_FOLDER")
        folder = "\(shared)/server-\(UUID().uuidString.prefix(8))"
        port = FreePort.take()
        let names = "--lower-case-table-names=1"
        state = NIOLockedValueBox(State(options: options + (comparesExactly ? [] : [names])))
        try Self.run("mkdir '\(folder)' && chown --reference='\(shared)/template' '\(folder)'")
        if !comparesExactly, TestMySQL.isMySQL {
            // It is to be known when the data folder is made.
            let arguments = "--defaults-file='\(shared)/my.cnf' --datadir='\(folder)/data' \(names)"
            try Self.run(
                "cd '\(folder)' && \(try asServer())'\(program)' \(arguments) --initialize-insecure --skip-log-bin >log 2>&1"
            )
        } else {
            try Self.run("cp -a '\(shared)/template' '\(folder)/data'")
        }
        try await start()
    }

    deinit {
        end(SIGKILL)
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Where it is.
    package var address: TestMySQL { TestMySQL(port: port) }

    /// What the server has said last.
    package var endOfLog: Substring {
        (try? String(contentsOfFile: "\(folder)/log", encoding: .utf8))?.suffix(2000) ?? ""
    }

    /// Waits until the server has said something in its log, which is the only place where it says it.
    ///
    /// - Throws: ``TestMySQL/Failure`` after two minutes.
    package func says(_ text: String) async throws {
        let deadline = ContinuousClock.now + .seconds(120)
        while !endOfLog.contains(text) {
            guard ContinuousClock.now < deadline else {
                throw TestMySQL.Failure(description: "The server does not say “\(text)”:\n\(endOfLog)")
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// The folder of its data.
    package var dataFolder: String { "\(folder)/data" }

    /// Gives the server's user a folder outside of that of its data.
    package func own(_ folder: URL) throws {
        let data = try FileManager.default.attributesOfItem(atPath: dataFolder)
        let owner = data.filter { [.ownerAccountID, .groupOwnerAccountID].contains($0.key) }
        try FileManager.default.setAttributes(owner, ofItemAtPath: folder.path)
        let parent = folder.deletingLastPathComponent().path
        if parent != FileManager.default.temporaryDirectory.path {
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: parent)
        }
    }

    /// Starts the server, and waits until it can be used.
    ///
    /// - Parameter options: Instead of those that it has, for this start and the next ones.
    /// - Throws: ``TestMySQL/Failure`` with its last words.
    package func start(_ options: [String]? = nil) async throws {
        let options = state.withLockedValue { state in
            if let options { state.options = options }
            return state.options
        }
        let arguments =
            [
                "--defaults-file=\(shared)/my.cnf", "--datadir=\(folder)/data", "--port=\(port)",
                "--socket=\(folder)/s",
                "--pid-file=\(folder)/pid", "--tmpdir=\(folder)/tmp",
            ] + options
        let command = arguments.map { "'\($0)'" }.joined(separator: " ")
        // A server that starts removes temporary tables from its folder for them, those of others, too.
        let folders = "cd '\(folder)' && mkdir -p tmp && chmod 1777 tmp"
        let process = try Self.spawn(
            "\(folders) && exec \(try asServer())'\(program)' \(command) >>'\(folder)/log' 2>&1"
        )
        state.withLockedValue { $0.process = process }
        let deadline = ContinuousClock.now + .seconds(30)
        // The server tells when it is there in its log only: each attempt to connect is refused at once until then.
        while true {
            do {
                try await address.open().close()
                return
            } catch let error as MySQLConnectionError {
                guard ContinuousClock.now < deadline, waitpid(process, nil, WNOHANG) == 0 else {
                    throw TestMySQL.Failure(description: "The server does not start: \(error)\n\(endOfLog)")
                }
                try await Task.sleep(for: .milliseconds(50))
            }
        }
    }

    /// Stops the server as its service does, and waits for its end.
    package func stop() { end(SIGTERM) }

    /// Ends the server as by a power failure.
    package func crash() { end(SIGKILL) }

    /// Stops its process, so that connections stay and nothing answers: like a machine that hangs.
    package func freeze() { signal(SIGSTOP) }

    /// Lets it go on.
    package func thaw() { signal(SIGCONT) }

    private func signal(_ signal: CInt) {
        if let process = state.withLockedValue(\.process) { kill(process, signal) }
    }

    private func end(_ signal: CInt) {
        let process = state.withLockedValue { state in
            defer { state.process = nil }
            return state.process
        }
        guard let process else { return }
        kill(process, signal)
        kill(process, SIGCONT)
        while waitpid(process, nil, 0) == -1, errno == EINTR {}
    }

    /// Keeps a copy of the files of the server, which is stopped meanwhile: a snapshot of its volume.
    package func keepFiles() async throws {
        stop()
        try Self.run("rm -rf '\(folder)/kept' && cp -a '\(folder)/data' '\(folder)/kept'")
        try await start()
    }

    /// Puts the files back that were kept.
    package func putFilesBack() async throws {
        crash()
        try Self.run("rm -rf '\(folder)/data' && cp -a '\(folder)/kept' '\(folder)/data'")
        // The first event of a log file has the second in which it was made, by the clock: the file that is made now has another one.
        let now = Date().timeIntervalSince1970
        try await Task.sleep(for: .seconds(now.rounded(.up) - now))
        try await start()
    }

    /// The server refuses to run as root: it is the owner of its files.
    private func asServer() throws -> String {
        guard getuid() == 0 else { return "" }
        let owner = try FileManager.default.attributesOfItem(atPath: "\(shared)/template")
        guard let user = owner[.ownerAccountID] as? Int, let group = owner[.groupOwnerAccountID] as? Int else {
            throw TestMySQL.Failure(description: "\(shared)/template has no owner")
        }
        return "setpriv --reuid=\(user) --regid=\(group) --clear-groups "
    }

    private static func run(_ command: String) throws {
        let process = try spawn(command)
        var status: CInt = 0
        while waitpid(process, &status, 0) == -1, errno == EINTR {}
        guard status == 0 else { throw TestMySQL.Failure(description: "\(command): status \(status)") }
    }

    /// Foundation's `Process` waits for what a program leaves behind, too.
    private static func spawn(_ command: String) throws -> pid_t {
        var process = pid_t()
        var pointers = ["/bin/sh", "-c", command].map { (text: String) in strdup(text) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        let status = posix_spawn(&process, "/bin/sh", nil, nil, &pointers, environ)
        guard status == 0 else { throw TestMySQL.Failure(description: "\(command): status \(status)") }
        return process
    }
}
