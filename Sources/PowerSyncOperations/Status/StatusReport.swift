import Foundation
package import PowerSyncProtocol
import PowerSyncService
import PowerSyncServiceCore
import PowerSyncTerminal

/// The diagnostics of a service for people.
package struct StatusReport {
    /// What to print.
    package private(set) var lines: [String] = []
    /// Whether nothing is `fatal`.
    package private(set) var isInOrder = true

    /// Reads the `data` of `/api/admin/v1/diagnostics`.
    package init(_ data: JSONObject) {
        for connection in data.entries("connections") {
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
        if let transaction = snapshot.replication.openTransaction {
            // Whatever the source says of its clock.
            let seconds = Int(min(max(0, snapshot.time - transaction.committedAt), 1e9))
            lines.append(
                "reading   a large transaction, committed \(seconds) s ago: "
                    + "\(transaction.changes.counted("change")) so far, shown when it is complete"
            )
        }
        for copy in snapshot.replication.streams.compactMap(\.copy) {
            let share = copy.percent.map { ", about \($0) % of it" } ?? ""
            lines.append(
                "copying   \(TerminalText.line(copy.table)): \(copy.rows.counted("row")) so far\(share), "
                    + "table \(copy.copiedTables + 1) of \(copy.tables)"
            )
        }
        addStorage(snapshot.storage)
        addClients(snapshot)
    }

    private mutating func addRowsWithoutID(_ counts: [String: Int]) {
        let tables = counts.sorted { $0.key < $1.key }.map { "\(TerminalText.line($0.key)) \($0.value)" }
        lines.append("rows      left out, because they have no id: \(tables.joined(separator: ", "))")
        lines.append("          warning: their queries need one, such as `a || '-' || b AS id`")
    }

    private mutating func addStorage(_ storage: ServiceSnapshot.Storage) {
        var facts = ["files \(ByteCount.text(storage.bytes))"]
        if let sizes = storage.sizes {
            facts += [
                "operations \(ByteCount.text(sizes.operations))",
                "parameter indexes \(ByteCount.text(sizes.parameters))", "rows \(ByteCount.text(sizes.rows))",
                "buckets \(sizes.buckets)",
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
        lines.append("clients   \(clients.streams.counted("open stream")), users \(clients.users)")
        for client in clients.list.prefix(Self.clientLimit) {
            // Whatever the service says of its clock.
            let seconds = Int(min(max(0, snapshot.time - client.activeSince), 1e9))
            var facts = [
                "user \(client.user.printable)", "buckets \(client.buckets)",
                "sent \(client.operations.counted("operation"))", "\(client.activity.text) for \(seconds) s",
            ]
            if client.bucketsLeft > 0 { facts.append("\(client.bucketsLeft.counted("bucket")) to download") }
            lines.append("          \(facts.joined(separator: ", "))")
        }
        if clients.streams > Self.clientLimit {
            lines.append("          and \(clients.streams - Self.clientLimit) more")
        }
    }

    private mutating func addStream(_ title: String, _ value: ExactJSON?) {
        let padding = String(repeating: " ", count: 10 - title.count)
        guard case .object(let stream) = value else {
            if title == "active" { lines.append("\(title)\(padding)no sync config: clients get PSYNC_S2302") }
            return
        }
        var facts = ["stream \(stream.string("stream_id"))", stream.string("state")]
        if stream["version_label"] != nil {
            facts.append("version \(TerminalText.line(stream.string("version_label")))")
        }
        for connection in stream.entries("connections") {
            facts.append("slot \(connection.string("slot_name"))")
            facts.append("tables \(connection.entries("tables").count)")
            if connection["initial_replication_done"] == .bool(false) { facts.append("being copied") }
            if case .integer(let lag)? = connection["replication_lag_bytes"] {
                facts.append("\(ByteCount.text(lag)) behind")
            }
            if connection["last_checkpoint_ts"] != nil {
                facts.append("last checkpoint \(connection.string("last_checkpoint_ts"))")
            }
        }
        lines.append("\(title)\(padding)\(facts.joined(separator: ", "))")
        for connection in stream.entries("connections") {
            for table in connection.entries("tables") { addFindings(of: table) }
        }
        addFindings(of: stream)
    }

    private mutating func addFindings(of object: JSONObject) {
        for finding in object.entries("errors") {
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
    var printable: String {
        String(String.UnicodeScalarView(unicodeScalars.filter { !$0.properties.isControl }))
    }
}

extension Unicode.Scalar.Properties {
    fileprivate var isControl: Bool { [.control, .format, .lineSeparator].contains(generalCategory) }
}

extension JSONObject {
    /// A member as text; `?` when it is missing.
    func string(_ name: String) -> String {
        switch self[name] {
        case .string(let text): text
        case let value?: value.text
        case nil: "?"
        }
    }

    /// The objects in an array.
    func entries(_ name: String) -> [JSONObject] {
        guard case .array(let values) = self[name] else { return [] }
        return values.compactMap { if case .object(let object) = $0 { object } else { nil } }
    }
}
