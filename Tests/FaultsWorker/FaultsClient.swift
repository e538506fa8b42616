import Foundation
import PowerSync
import TestSupport

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// An app with the SDK that does as ``FaultsCommand``s say, and watches its registers besides, until its standard input ends.
struct FaultsClient: Sendable {
    /// What a process is started with.
    struct Settings: Decodable, Sendable {
        /// The path of the database file.
        var file: String
        /// The URL of the backend.
        var backend: String
        /// The user, whom the backend takes at their word.
        var user: String
        /// The name of the client, which its entries have.
        var client: String
    }

    private let settings: Settings
    private let database: any PowerSyncDatabaseProtocol
    private let output = AnswerOutput()

    /// Creates a client; the file is opened by the first command.
    init(settings: Settings) {
        self.settings = settings
        database = PowerSyncDatabase(
            schema: Workload.schema,
            dbFilename: settings.file,
            logger: DefaultLogger(minSeverity: .info, writers: [ErrorOutput()])
        )
    }

    /// Carries commands out, each in a task of its own, so that transactions do not wait for connections.
    func run() async throws {
        try await withThrowingDiscardingTaskGroup { tasks in
            tasks.addTask { try await watch() }
            for await line in FileHandle.standardInput.lines() {
                let command = try JSONDecoder().decode(FaultsCommand.self, from: Data(line.utf8))
                tasks.addTask {
                    do {
                        output.say(try await carryOut(command))
                    } catch {
                        output.say(FaultsAnswer(id: command.id, error: "\(error)"))
                    }
                }
            }
            try await database.close()
            tasks.cancelAll()
        }
    }

    private func watch() async throws {
        let results = try database.watch(sql: Register.query, parameters: []) { try Register($0) }
        for try await registers in results { output.say(FaultsAnswer(id: nil, read: registers)) }
    }

    private func carryOut(_ command: FaultsCommand) async throws -> FaultsAnswer {
        var answer = FaultsAnswer(id: command.id)
        switch command.work {
        case .connect:
            guard let service = command.service else { throw Mistake(description: "connect to what?") }
            try await connect(to: service)
        case .disconnect:
            try await database.disconnect()
        case .transact:
            guard let value = command.value, let keys = command.keys else { throw Mistake(description: "write what?") }
            answer = FaultsAnswer(id: command.id, read: try await transact(value, to: keys))
        case .read:
            let read = try await database.readTransaction { try Self.registers(in: $0) }
            answer = FaultsAnswer(id: command.id, read: read)
        case .state:
            answer.queued = try await database.getUploadQueueStats(includeSize: false).count
            answer.connected = database.currentStatus.connected
            answer.counts = try await database.readTransaction { transaction in
                try ["registers", "entries", "notes"].map { table in
                    try transaction.get(sql: "SELECT count(*) FROM \(table)", parameters: []) {
                        try $0.getInt64(index: 0)
                    }
                }
            }
        case .rows:
            answer.rows = try await rows()
        case .inspect:
            answer.inspection = "\(try await database.inspection())"
        case .close:
            try await database.close()
        }
        return answer
    }

    private func connect(to service: String) async throws {
        let connector = try HTTPBackendConnector(uploadURL: settings.backend + "/upload") {
            PowerSyncCredentials(endpoint: service, token: try await token())
        }
        try await database.connect(connector: connector, options: ConnectOptions(crudThrottle: 0.1, retryDelay: 1))
    }

    private func token() async throws -> String {
        struct Answer: Decodable { var token: String }
        guard let url = URL(string: settings.backend + "/token") else { throw URLError(.badURL) }
        var request = URLRequest(url: url, timeoutInterval: 10)
        request.httpMethod = "POST"
        request.setValue(settings.user, forHTTPHeaderField: "Authorization")
        let (body, response) = try await URLSession.shared.data(for: request)
        guard (response as? HTTPURLResponse)?.statusCode == 200 else { throw URLError(.badServerResponse) }
        return try JSONDecoder().decode(Answer.self, from: body).token
    }

    /// Reads all registers, and writes as everybody's and the user's.
    private func transact(_ value: Int64, to keys: [String]) async throws -> [Register] {
        try await database.writeTransaction { [settings] transaction in
            let registers = try Self.registers(in: transaction)
            for key in keys {
                try transaction.execute(
                    sql: "UPDATE registers SET v = ? WHERE id = ? AND v < ?",
                    parameters: [value, key, value]
                )
            }
            try transaction.execute(
                sql: "INSERT INTO entries (id, v, client) VALUES (?, ?, ?)",
                parameters: ["\(value)", value, settings.client]
            )
            try transaction.execute(
                sql: "INSERT INTO notes (id, owner_id, v) VALUES (?, ?, ?)",
                parameters: ["\(value)", settings.user, value]
            )
            return registers
        }
    }

    private static func registers(in transaction: any Transaction) throws -> [Register] {
        try transaction.getAll(sql: Register.query, parameters: []) { try Register($0) }
    }

    private func rows() async throws -> [String: [[String]]] {
        let columns = ["registers": ["id", "v"], "entries": ["id", "v", "client"], "notes": ["id", "v", "owner_id"]]
        return try await database.readTransaction { transaction in
            var rows: [String: [[String]]] = [:]
            for (table, names) in columns {
                let texts = names.map { "CAST(\($0) AS TEXT)" }
                rows[table] = try transaction.getAll(
                    sql: "SELECT \(texts.joined(separator: ", ")) FROM \(table)",
                    parameters: []
                ) { cursor in names.indices.map { cursor.getStringOptional(index: $0) ?? "" } }
            }
            return rows
        }
    }
}

/// The standard output: lines of tasks that run at the same time stay whole.
private final class AnswerOutput: Sendable {
    private let lock = NSLock()

    func say(_ answer: FaultsAnswer) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        guard let line = try? encoder.encode(answer) else { return }
        // Nobody reads it any more when the script has ended.
        lock.withLock { try? FileHandle.standardOutput.write(contentsOf: line + Data("\n".utf8)) }
    }
}

/// The log, which is kept for failures.
private final class ErrorOutput: LogWriterProtocol {
    func log(severity: LogSeverity, message: String, tag: String?) {
        let line = "\(Date.now) \(severity.stringValue): [\(tag ?? "")] \(message)\n"
        try? FileHandle.standardError.write(contentsOf: Data(line.utf8))
    }
}
