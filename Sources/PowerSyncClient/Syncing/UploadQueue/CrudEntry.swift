import PowerSyncCore
import PowerSyncProtocol
public import PowerSyncUpload

/// A local write that waits for its upload.
public struct CrudEntry: Sendable {
    /// The id of the row.
    public let id: String
    /// The position in the queue.
    public let clientId: Int64
    /// What happened to the row.
    public let op: UpdateType
    /// The name of the table.
    public let table: String
    /// What the writes of one transaction have in common.
    public let transactionId: Int64?
    /// What the app wrote to the column `_metadata`.
    public let metadata: String?
    /// The new values, those of columns with a ``Column/kind`` as ``ColumnKind`` says.
    public let opDataTyped: JsonParam?
    /// The values before the write, if the table tracks them.
    public let previousValuesTyped: JsonParam?
    /// Why the stored entry could not be read as a whole; `nil` for a sound one.
    ///
    /// The other properties have what could be read. See ``DamagedCrudEntryError`` for what to do with it.
    public let damage: DamagedCrudEntryError?

    /// The new values as texts: numbers by their description, booleans as `true` and `false`.
    ///
    /// Null, arrays and objects are `nil`, also those of a column whose kind is JSON.
    ///
    /// - Complexity: O(number of values).
    public var opData: [String: String?]? { opDataTyped?.mapValues(\.columnText) }

    /// The values before the write, as texts like ``opData``.
    ///
    /// - Complexity: O(number of values).
    public var previousValues: [String: String?]? { previousValuesTyped?.mapValues(\.columnText) }
}

extension CrudEntry {
    /// Takes a write out of the queue, with values of the kinds of their columns.
    init(_ write: QueuedWrite, _ kinds: ColumnKinds) {
        self.init(
            id: write.rowID,
            clientId: write.id,
            op: UpdateType(write.kind),
            table: write.table,
            transactionId: write.transactionID,
            metadata: write.metadata,
            opDataTyped: write.data.map { kinds.typed(JsonParam($0), table: write.table) },
            previousValuesTyped: write.previousValues.map { kinds.typed(JsonParam($0), table: write.table) },
            damage: write.damage.map { DamagedCrudEntryError(clientId: write.id, $0) }
        )
    }
}

// Entries of the upload queue are typed by the kinds of the schema at the moment of reading.
extension ColumnKinds {
    /// Takes the kinds of the schema of a database; none for a database of the app that is not ours.
    init(of database: any PowerSyncDatabaseProtocol) {
        self = SyncedDatabase.behind(database)?.local.kinds ?? ColumnKinds(nil)
    }

    /// Values with the kinds of their columns.
    func typed(_ values: JsonParam, table: String) -> JsonParam {
        let kinds = columns(ofTable: table)
        guard !kinds.isEmpty else { return values }
        return values.reduce(into: values) { values, member in
            guard let kind = kinds[member.key], let typed = Self.value(of: member.value, kind) else { return }
            values[member.key] = typed
        }
    }
}

extension UpdateType {
    init(_ kind: QueuedWrite.Kind) {
        switch kind {
        case .put: self = .put
        case .patch: self = .patch
        case .delete: self = .delete
        }
    }
}

extension JsonValue {
    fileprivate var columnText: String? {
        switch self {
        case .string(let value): value
        case .int(let value): String(value)
        case .double(let value): String(value)
        case .bool(let value): String(value)
        case .null, .array, .object: nil
        }
    }
}

extension CrudEntry: CustomStringConvertible {
    /// What is written to which row, in a line: `PATCH todos/1 (done, title)`; without values.
    public var description: String {
        var text = "\(op.rawValue) \(table)/\(id)"
        if let columns = opDataTyped?.keys.sorted(), !columns.isEmpty {
            text += " (\(columns.joined(separator: ", ")))"
        }
        return damage == nil ? text : text + ", damaged"
    }
}

extension [CrudEntry] {
    /// How many writes there are, and the first of them.
    var listText: String {
        let shown = prefix(3).map(\.description) + (count > 3 ? ["…"] : [])
        return "\(count.counted("local write")): \(shown.joined(separator: ", "))"
    }
}

extension UploadEntry {
    /// What a backend gets of a local write.
    ///
    /// ```swift
    /// import PowerSync
    /// import PowerSyncUpload
    ///
    /// let request = UploadRequest(
    ///     clientID: try await database.getClientId(),
    ///     entries: transaction.crud.map(UploadEntry.init)
    /// )
    /// ```
    ///
    /// - Parameter entry: The write. Of a damaged one, what could be read.
    public init(_ entry: CrudEntry) {
        self.init(
            operationID: entry.clientId,
            op: entry.op,
            table: entry.table,
            id: entry.id,
            transactionID: entry.transactionId,
            data: entry.opDataTyped,
            previousValues: entry.previousValuesTyped,
            metadata: entry.metadata
        )
    }
}

extension CrudEntry: Encodable {
    /// Encodes the entry as an `UploadEntry`, the form in which clients in other languages upload it.
    ///
    /// Foundation's `JSONEncoder` writes real numbers without a fraction as integers; `UploadRequest` does not.
    public func encode(to encoder: any Encoder) throws {
        try UploadEntry(self).encode(to: encoder)
    }
}
