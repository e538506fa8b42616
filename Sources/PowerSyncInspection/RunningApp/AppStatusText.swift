import PowerSyncProtocol
import PowerSyncTerminal

/// The status of an app as lines for people.
struct AppStatusText {
    private let status: JSONObject

    /// Reads a status as the app tells it; what is missing in it is not shown.
    init(_ status: JSONObject) {
        self.status = status
    }

    /// The lines.
    var lines: [String] {
        var lines = [status.flag("isConnected") ? "connected" : "not connected"]
        lines.append(status.text("lastSyncedAt").map { "last synced at \($0)" } ?? "never synced")
        lines += waits
        lines += [queue]
        if let error = status.text("downloadError") { lines.append("download error: \(error)") }
        if let error = status.text("uploadError") { lines.append("upload error: \(error)") }
        lines += status.objects("buckets").map(bucket)
        lines += more("bucketCount", than: "buckets", "bucket")
        lines += status.objects("streams").map(stream)
        lines += status.objects("setAsideRows").map { row in
            "set aside: \(row.text("table") ?? "") \(row.text("id") ?? ""): \(row.text("reason") ?? "")"
        }
        lines += more("setAsideRowCount", than: "setAsideRows", "row that is set aside", "rows that are set aside")
        return lines
    }

    private var waits: [String] {
        guard let waits = status.object("waits") else { return [] }
        var lines = ["download", "upload"].compactMap { name -> String? in
            guard let wait = waits.object(name), let reason = wait.text("for"), let since = wait.text("since") else {
                return nil
            }
            return "\(name) waits for \(reason), since \(since)"
        }
        if waits.flag("hasWritesOfAnotherUser") { lines.append("uploading writes of another user") }
        return lines.isEmpty ? ["waiting for nothing"] : lines
    }

    private var queue: String {
        let queue = status.object("queue") ?? [:]
        let rejected = queue.integer("rejectedWrites") ?? 0
        return
            "\(queue.counted("writes", "write")) of \(queue.counted("transactions", "transaction")) to upload, "
            + queue.counted("bytes", "byte") + (rejected > 0 ? ", \(rejected) rejected" : "")
    }

    private func bucket(_ bucket: JSONObject) -> String {
        var parts = [
            "bucket \(bucket.text("name") ?? ""): \(bucket.counted("downloadedOperations", "operation")), "
                + bucket.counted("downloadedBytes", "byte")
        ]
        if let priority = bucket.integer("priority") { parts.append("priority \(priority)") }
        parts += download(bucket)
        if !bucket.flag("isShown") { parts.append("not shown yet") }
        return parts.joined(separator: ", ")
    }

    private func stream(_ stream: JSONObject) -> String {
        let parameters = stream.object("parameters").map { " \($0.text)" } ?? ""
        var parts: [String] = []
        if stream.flag("isDefault") { parts.append("by default") }
        if stream.flag("isSubscribed") { parts.append("subscribed") }
        if stream.flag("isLeftOut") { parts.append("left out, because there are too many subscriptions") }
        if stream.flag("isUnknown") {
            parts.append("not known to the service")
        } else if !stream.flag("isActive") {
            parts.append("not active")
        }
        parts.append(stream.text("lastSyncedAt").map { "last synced at \($0)" } ?? "never synced")
        parts += download(stream)
        return "stream \(stream.text("name") ?? "")\(parameters): \(parts.joined(separator: ", "))"
    }

    private func download(_ object: JSONObject) -> [String] {
        guard let total = object.integer("operationsToDownload"), total > 0 else { return [] }
        return ["downloading \(object.integer("operationsOfDownload") ?? 0) of \(total)"]
    }

    private func more(_ count: String, than list: String, _ thing: String, _ things: String? = nil) -> [String] {
        let more = Int(status.integer(count) ?? 0) - status.objects(list).count
        return more > 0 ? ["and \(more) more \(more.words(thing, things))"] : []
    }
}

extension JSONObject {
    fileprivate func text(_ name: String) -> String? {
        if case .string(let text)? = self[name] { text } else { nil }
    }

    fileprivate func integer(_ name: String) -> Int64? {
        if case .integer(let integer)? = self[name] { integer } else { nil }
    }

    /// A number with its noun; 0 when it is missing.
    fileprivate func counted(_ name: String, _ noun: String) -> String { (integer(name) ?? 0).counted(noun) }

    fileprivate func flag(_ name: String) -> Bool { self[name] == true }

    fileprivate func object(_ name: String) -> JSONObject? {
        if case .object(let object)? = self[name] { object } else { nil }
    }

    fileprivate func objects(_ name: String) -> [JSONObject] {
        guard case .array(let elements)? = self[name] else { return [] }
        return elements.compactMap { if case .object(let object) = $0 { object } else { nil } }
    }
}
