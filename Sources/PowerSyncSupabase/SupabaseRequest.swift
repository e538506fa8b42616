import Foundation
import PowerSync

/// A request to PostgREST that uploads one write, or several in a row of one kind.
///
/// ```
/// PUT     POST   rest/v1/todos?on_conflict=id   [{"id":"1",…},…]   Prefer: resolution=merge-duplicates,return=minimal
/// PATCH   PATCH  rest/v1/todos?id=eq.1          {…}                Prefer: return=minimal,count=exact
/// DELETE  DELETE rest/v1/todos?id=in.("1","2")                     Prefer: return=minimal,count=exact
/// ```
///
/// All of them may be repeated.
struct SupabaseRequest: Sendable {
    /// The most ids of one address, which servers limit in their length.
    private static let idLimit = 50
    /// About how many bytes of rows one request has at most: 1 MiB.
    ///
    /// A row that is larger has a request of its own.
    private static let byteLimit = 1024 * 1024

    /// The writes, in their order; at least one.
    private(set) var entries: [CrudEntry]
    /// About how many bytes the rows have.
    private var bytes: Int

    private init(_ entry: CrudEntry) {
        entries = [entry]
        bytes = SupabaseRequest.bytes(of: entry)
    }

    /// Divides the writes of a transaction.
    ///
    /// - Parameters:
    ///   - entries: The writes.
    ///   - maximumRows: The most rows of one request.
    /// - Returns: The requests, in the order of the writes. One that would change nothing is left out.
    static func requests(for entries: [CrudEntry], maximumRows: Int) -> [SupabaseRequest] {
        var requests: [SupabaseRequest] = []
        for entry in entries where entry.op != .patch || entry.opDataTyped?.isEmpty == false {
            if let last = requests.last, last.takes(entry, maximumRows) {
                requests[requests.count - 1].entries.append(entry)
                requests[requests.count - 1].bytes += SupabaseRequest.bytes(of: entry)
            } else {
                requests.append(SupabaseRequest(entry))
            }
        }
        return requests
    }

    /// Each write in a request of its own.
    var single: [SupabaseRequest] { entries.map { SupabaseRequest($0) } }

    /// The writes in two requests, of at least two.
    var halves: [SupabaseRequest] {
        [entries.prefix(entries.count / 2), entries.dropFirst(entries.count / 2)].map { half in
            var request = self
            request.entries = Array(half)
            return request
        }
    }

    /// Whether the server counts the rows that it changes.
    var isCounted: Bool { entries[0].op != .put }

    /// The query that finds those of the rows that are there.
    var existenceQuery: String { "select=id&\(idQuery)" }

    var method: String {
        switch entries[0].op {
        case .put: "POST"
        case .patch: "PATCH"
        case .delete: "DELETE"
        }
    }

    var query: String {
        switch entries[0].op {
        case .put: return "on_conflict=id"
        case .patch: return "id=eq.\(SupabaseProject.encoded(entries[0].id))"
        case .delete: return idQuery
        }
    }

    private var idQuery: String {
        let ids = entries.map { entry in
            let escaped = entry.id.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
            return "\"\(escaped)\""
        }
        return "id=in.(\(SupabaseProject.encoded(ids.joined(separator: ","))))"
    }

    var preference: String {
        isCounted ? "return=minimal,count=exact" : "resolution=merge-duplicates,return=minimal"
    }

    /// The rows; `nil` for a deletion.
    var rows: [JsonParam]? {
        switch entries[0].op {
        case .put:
            entries.map { entry in
                var row = entry.opDataTyped ?? [:]
                row["id"] = .string(entry.id)
                return row
            }
        case .patch: [entries[0].opDataTyped ?? [:]]
        case .delete: nil
        }
    }

    /// Whether a write can go with those that are here: rows of one request have the same columns, and no id twice.
    private func takes(_ entry: CrudEntry, _ maximumRows: Int) -> Bool {
        let first = entries[0]
        guard entry.op == first.op, entry.table == first.table, !entries.contains(where: { $0.id == entry.id }) else {
            return false
        }
        switch entry.op {
        case .put:
            return entries.count < maximumRows && bytes + SupabaseRequest.bytes(of: entry) <= SupabaseRequest.byteLimit
                && Set((entry.opDataTyped ?? [:]).keys) == Set((first.opDataTyped ?? [:]).keys)
        case .patch: return false
        case .delete: return entries.count < min(maximumRows, SupabaseRequest.idLimit)
        }
    }

    private static func bytes(of entry: CrudEntry) -> Int {
        (entry.opDataTyped ?? [:]).reduce(entry.id.utf8.count) { sum, column in
            if case .string(let text) = column.value { return sum + column.key.utf8.count + text.utf8.count }
            return sum + column.key.utf8.count + 20
        }
    }
}
