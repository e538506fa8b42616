import GRDB
import PowerSyncProtocol

/// Writes synced rows to the tables behind the views, and to raw tables (docs/client-sync.md "Publishing rows").
///
/// The destination of a row follows from its type:
///
/// | Destination | When | Row |
/// | --- | --- | --- |
/// | `ps_data__<type>` | the table exists | `(id, data)` |
/// | a raw table | otherwise, if the schema has one of this name | what its statements make of id and data |
/// | `ps_untyped` | otherwise | `(type, id, data)` |
///
/// Rows arrive ordered by type, so that the statements of the last type are kept at hand.
struct RowPublisher {
    private let db: Database
    private let rawTables: [ClientRawTable]
    private var current: (type: [UInt8], destination: RowDestination)?
    private var written = WrittenTables.none
    private var unreadable = UnreadableRows()

    /// Publishes rows and announces the changed tables to GRDB's observers.
    ///
    /// The flag of ``Publishing`` is set meanwhile, so that nothing of it becomes a local write.
    ///
    /// - Parameters:
    ///   - rows: The rows.
    ///   - kept: Those among them that keep their local state.
    ///   - rawTables: Where rows go whose types have no table of ours.
    ///   - schema: What is known of the file's tables, which is right.
    ///   - db: The writer, inside a transaction.
    /// - Returns: The rows that could only be published without values.
    /// - Throws: GRDB's `DatabaseError`, and ``RawTableError`` for a statement of the application.
    static func publish(
        _ rows: ChangedRows,
        except kept: inout KeptRows,
        rawTables: [ClientRawTable],
        _ schema: inout KnownSchema,
        _ db: Database
    ) throws -> UnreadableRows {
        try Publishing.whilePublishing(db) {
            var publisher = RowPublisher(rawTables: rawTables, db: db)
            try rows.forEach(db) { row in
                let (type, id, data) = (row.type, row.id, row.data)
                guard !kept.keeps(type: type, id: id) else { return }
                let destination = try publisher.destination(for: type, &schema)
                if row.mayBeOutdated, try destination.mayShow(type: type, id: id) { return }
                if let data, !StoredRow.isJSON(data) {
                    try publisher.writeReadable(type: type, id: id, data: data, to: destination)
                } else {
                    try destination.write(type: type, id: id, data: data)
                }
            }
            publisher.noteWritten()
            // GRDB does not see statements that are stepped by hand.
            try publisher.written.announce(&schema, db)
            return publisher.unreadable
        }
    }

    /// Writes a row whose data is not quite JSON.
    private mutating func writeReadable(
        type: UnsafeRawBufferPointer,
        id: UnsafeRawBufferPointer,
        data: UnsafeRawBufferPointer,
        to destination: RowDestination
    ) throws {
        switch try StoredRow.readable(data, for: destination.reader, db) {
        case .asIs:
            try destination.write(type: type, id: id, data: data)
        case .repaired(let bytes):
            try bytes.withUnsafeBytes { try destination.write(type: type, id: id, data: $0) }
        case .nothing(let bytes):
            unreadable.add(type: type)
            try bytes.withUnsafeBytes { try destination.write(type: type, id: id, data: $0) }
        }
    }

    private init(rawTables: [ClientRawTable], db: Database) {
        self.rawTables = rawTables
        self.db = db
    }

    private mutating func destination(
        for type: UnsafeRawBufferPointer,
        _ schema: inout KnownSchema
    ) throws -> RowDestination {
        if let current, current.type.elementsEqual(type) { return current.destination }
        noteWritten()
        let destination = try RowDestination(
            type: String(decoding: type, as: UTF8.self),
            rawTables: rawTables,
            &schema,
            db
        )
        current = (Array(type), destination)
        return destination
    }

    /// Notes what the rows of the current type have changed, when there are no more of them.
    private mutating func noteWritten() {
        if let current { written.formUnion(current.destination.written) }
    }
}
