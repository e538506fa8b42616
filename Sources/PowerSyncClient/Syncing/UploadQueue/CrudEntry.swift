import PowerSyncCore

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
        return "\(count) local \(count == 1 ? "write" : "writes"): \(shown.joined(separator: ", "))"
    }
}
