import ArgumentParser
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL
import PowerSyncTerminal
import PowerSyncProtocol
import PowerSyncService
import PowerSyncServiceCore

/// `powersync status --config powersync.yaml`: asks a running service what it replicates, how far it is, and who is connected.
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show what a running service replicates, and what is wrong.",
        discussion: """
            Asks the admin API, at the port of the service configuration on this machine or at --url, with a token of \
            `api.tokens`: the first one of the service configuration, or that of the environment variable PS_ADMIN_TOKEN. \
            Exits with 0 when everything is in order (warnings are allowed), with 1 when something is wrong, with 2 when the \
            service does not answer.
            """
    )

    /// The service does not answer.
    static let unreachable = ExitCode(2)

    @OptionGroup var config: ConfigurationOptions

    @Option(help: "The address of a service elsewhere, such as https://sync.example.com.")
    var url: String?

    @OptionGroup var output: OutputOptions

    func run() async throws {
        let (address, token, isLocal) = try target()
        let answer: JSONObject
        do {
            answer = try await diagnostics(of: address, token: token, isLocal: isLocal)
        } catch let error as UnexpectedAnswer {
            printToStandardError("\(address): \(error.description)")
            throw Self.unreachable
        } catch {
            printToStandardError("\(address) does not answer: \(error)")
            throw Self.unreachable
        }
        let report = StatusReport(answer)
        switch output.format {
        case .text: try StandardOutput.print(lines: report.lines)
        case .json: try StandardOutput.print(answer.text)
        }
        guard report.isInOrder else { throw ExitCode.failure }
    }

    /// Whom to ask, and with which token.
    private func target() throws -> (address: String, token: String, isLocal: Bool) {
        let variable = ProcessInfo.processInfo.environment["PS_ADMIN_TOKEN"]?.withoutLineEnd
        // One that is empty counts as one that is not set.
        let known = variable.flatMap { $0.isEmpty ? nil : $0 }
        if let url {
            // It is shown with what was found.
            guard !url.contains("@") else {
                throw ValidationError("--url has a user or a password, which nobody asks for; leave them out")
            }
            guard let known else {
                throw ValidationError("--url needs a token of the service in the environment variable PS_ADMIN_TOKEN")
            }
            return (url.hasSuffix("/") ? String(url.dropLast()) : url, known, false)
        }
        let configuration = try config.read()
        guard let token = configuration.admin.tokens.first ?? known else {
            throw UnreadableFile(
                "\(config.location.name) has no api.tokens: the service answers nobody; give it one and restart it"
            )
        }
        return (configuration.localURL, token, true)
    }

    private func diagnostics(of address: String, token: String, isLocal: Bool) async throws -> JSONObject {
        var request = HTTPClientRequest(url: address + "/api/admin/v1/diagnostics")
        request.method = .POST
        request.headers.add(name: "Authorization", value: "Token \(token)")
        // A service that is not there is told at once, not after 30 seconds of attempts.
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.retryConnectionEstablishment = false
        if isLocal {
            // The certificate is for the public name. Over plain HTTP, nobody would have checked who has the port, either.
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.certificateVerification = .none
            configuration.tlsConfiguration = tls
        }
        let client = HTTPClient(configuration: configuration)
        let response: HTTPClientResponse
        let body: ByteBuffer
        do {
            response = try await client.execute(request, timeout: .seconds(30))
            body = try await response.body.collect(upTo: 16 * 1024 * 1024)
        } catch {
            try await client.shutdown()
            throw error
        }
        try await client.shutdown()
        guard response.status == .ok else {
            throw UnexpectedAnswer(status: Int(response.status.code), body: String(buffer: body))
        }
        guard case .object(let answer)? = try? JSONValue(parsing: body), case .object(let data) = answer["data"] else {
            throw UnexpectedAnswer(description: "something else answers there, not a sync service")
        }
        return data
    }

    /// The service answers, but not with diagnostics.
    struct UnexpectedAnswer: Error {
        /// What it has answered.
        let description: String
    }
}

extension StatusCommand.UnexpectedAnswer {
    /// An answer with another status than 200, and what it says about the reason.
    init(status: Int, body: String) {
        guard status != 401 else {
            description = "the token is not one of api.tokens"
            return
        }
        var parts = ["status \(status) instead of the diagnostics"]
        if let error = ErrorEnvelope(json: ByteBuffer(string: body)) {
            parts += ["[\(error.code.rawValue)] \(error.description)"] + [error.details].compactMap(\.self)
        }
        description = parts.joined(separator: ": ").printable
    }
}

/// The diagnostics of a service for people.
struct StatusReport {
    /// What to print.
    private(set) var lines: [String] = []
    /// Whether nothing is `fatal`.
    private(set) var isInOrder = true

    /// Reads the `data` of `/api/admin/v1/diagnostics`.
    init(_ data: JSONObject) {
        for connection in data.objects("connections") {
            let state = connection["connected"] == .bool(true) ? "connected" : "not connected"
            lines.append("source    \(connection.string(EstablishedName.sourceURI)), \(state)")
            addFindings(of: connection)
        }
        if case .object(let storage) = data["storage"] {
            lines.append("storage   cannot be looked at:")
            addFindings(of: storage)
        }
        if data["active_sync_rules"] != nil || data["storage"] == nil {
            addStream("active", data["active_sync_rules"])
        }
        addStream("deploying", data["deploying_sync_rules"])
        if case .object(let rejected) = data["rejected_sync_rules"] {
            lines.append("rejected  a sync config that was to be deployed:")
            addFindings(of: rejected)
        }
        guard case .object(let service) = data["service"] else { return }
        if case .object(let tls) = service["tls"] {
            lines.append("tls       \(tls.string("certificate")), valid until \(tls.string("not_after"))")
            addFindings(of: tls)
        }
        // A service of another version says it differently.
        guard let snapshot = try? JSONDecoder().decode(ServiceSnapshot.self, from: Data(service.text.utf8)) else {
            lines.append("service   of another version: powersync status of that version tells more")
            return
        }
        if let counts = snapshot.replication.rowsWithoutID { addRowsWithoutID(counts) }
        addStorage(snapshot.storage)
        addClients(snapshot)
    }

    private mutating func addRowsWithoutID(_ counts: [String: Int]) {
        let tables = counts.sorted { $0.key < $1.key }.map { "\(TerminalText.line($0.key)) \($0.value)" }
        lines.append("rows      left out, because they have no id: \(tables.joined(separator: ", "))")
        lines.append("          warning: their queries need one, such as `a || '-' || b AS id`")
    }

    private mutating func addStorage(_ storage: ServiceSnapshot.Storage) {
        var facts = ["files \(storage.bytes / 1024) KiB"]
        if let sizes = storage.sizes {
            facts += [
                "operations \(sizes.operations / 1024) KiB", "parameter indexes \(sizes.parameters / 1024) KiB",
                "rows \(sizes.rows / 1024) KiB", "buckets \(sizes.buckets)",
            ]
        }
        lines.append("storage   \(facts.joined(separator: ", "))")
        for problem in storage.problems {
            isInOrder = false
            lines.append("          fatal: \(problem)")
        }
        if let error = storage.compaction?.error { lines.append("          warning: compaction failed: \(error)") }
    }

    /// The most clients that are printed.
    private static let clientLimit = 20

    private mutating func addClients(_ snapshot: ServiceSnapshot) {
        let clients = snapshot.clients
        lines.append("clients   \(clients.streams) open streams, users \(clients.users)")
        for client in clients.list.prefix(Self.clientLimit) {
            // Whatever the service says of its clock.
            let seconds = Int(min(max(0, snapshot.time - client.activeSince), 1e9))
            var facts = [
                "user \(client.user.printable)", "buckets \(client.buckets)", "sent \(client.operations) operations",
                "\(client.activity.text) for \(seconds) s",
            ]
            if client.bucketsLeft > 0 { facts.append("\(client.bucketsLeft) buckets to download") }
            lines.append("          \(facts.joined(separator: ", "))")
        }
        if clients.streams > Self.clientLimit {
            lines.append("          and \(clients.streams - Self.clientLimit) more")
        }
    }

    private mutating func addStream(_ title: String, _ value: JSONValue?) {
        let padding = String(repeating: " ", count: 10 - title.count)
        guard case .object(let stream) = value else {
            if title == "active" { lines.append("\(title)\(padding)no sync config: clients get PSYNC_S2302") }
            return
        }
        var facts = ["stream \(stream.string("stream_id"))", stream.string("state")]
        if stream["version_label"] != nil {
            facts.append("version \(TerminalText.line(stream.string("version_label")))")
        }
        for connection in stream.objects("connections") {
            facts.append("slot \(connection.string("slot_name"))")
            facts.append("tables \(connection.objects("tables").count)")
            if connection["initial_replication_done"] == .bool(false) { facts.append("being copied") }
            if let lag = connection["replication_lag_bytes"] { facts.append("\(lag.text) bytes behind") }
            if connection["last_checkpoint_ts"] != nil {
                facts.append("last checkpoint \(connection.string("last_checkpoint_ts"))")
            }
        }
        lines.append("\(title)\(padding)\(facts.joined(separator: ", "))")
        for connection in stream.objects("connections") {
            for table in connection.objects("tables") { addFindings(of: table) }
        }
        addFindings(of: stream)
    }

    private mutating func addFindings(of object: JSONObject) {
        for finding in object.objects("errors") {
            let level = finding.string("level")
            if level == "fatal" { isInOrder = false }
            lines.append("          \(level): \(finding.string("message"))")
        }
    }
}

extension ClientStreamActivity {
    /// What a stream does, for people.
    fileprivate var text: String {
        switch self {
        case .opening: "opening"
        case .reading: "reading"
        case .sending: "sending"
        case .waitingForCheckpoint: "up to date"
        case .waitingForSlot: "waiting for a slot to read"
        case .waitingForMemory: "waiting for memory"
        case .waitingForClient: "waiting for the client to read"
        }
    }
}

extension String {
    /// The text without what a terminal would obey, for a name in the middle of a line.
    fileprivate var printable: String {
        String(String.UnicodeScalarView(unicodeScalars.filter { !$0.properties.isControl }))
    }
}

extension Unicode.Scalar.Properties {
    fileprivate var isControl: Bool { [.control, .format, .lineSeparator].contains(generalCategory) }
}

extension JSONObject {
    /// A member as text; `?` when it is missing.
    fileprivate func string(_ name: String) -> String {
        switch self[name] {
        case .string(let text): text
        case let value?: value.text
        case nil: "?"
        }
    }

    /// The objects in an array.
    fileprivate func objects(_ name: String) -> [JSONObject] {
        guard case .array(let values) = self[name] else { return [] }
        return values.compactMap { if case .object(let object) = $0 { object } else { nil } }
    }
}
