package import NIOCore

/// A message of the output plugin `pgoutput`, version 1 of its protocol.
///
/// A transaction is `Begin`, changes, `Commit`. Before the first change of a table in a session, and whenever it may have
/// become another one, a `Relation` describes it. Integers are big endian, texts end with a zero byte.
///
/// ```
/// Begin     B, int64 position of the commit, int64 time of the commit, int32 xid
/// Commit    C, byte 0, int64 position of the commit, int64 end of the transaction, int64 time
/// Origin    O, int64 position, text name
/// Relation  R, int32 oid, text schema, text name, byte replica identity, int16 count,
///           for each column: byte flags (1: in the identity), text name, int32 type, int32 modifier of the type
/// Type      Y, int32 oid, text schema, text name
/// Insert    I, int32 relation, N, tuple
/// Update    U, int32 relation, (K or O, tuple)?, N, tuple
/// Delete    D, int32 relation, K or O, tuple
/// Truncate  T, int32 count, byte options (1: cascade, 2: restart identity), int32 relations
/// Message   M, byte flags (1: in a transaction), int64 position, text prefix, int32 length, content
/// ```
package enum PgoutputMessage: Sendable, Hashable {
    /// A transaction that was committed begins.
    ///
    /// - `commit`: The position of its commit record. Transactions come in the order of these.
    case begin(commit: WALPosition, committedAt: PostgresInstant, transactionID: UInt32)
    /// A transaction ends.
    ///
    /// - `commit`: As in its `begin`.
    /// - `end`: The position after the commit record: what is acknowledged, and compared with heads.
    case commit(commit: WALPosition, end: WALPosition, committedAt: PostgresInstant)
    /// The transaction comes from another server.
    case origin(position: WALPosition, name: String)
    /// A table, as it is for the changes that follow.
    case relation(PgoutputRelation)
    /// The name of a type that is not built in.
    case type(PostgresOID, schema: String, name: String)
    /// A new row.
    case insert(relation: PostgresOID, new: PgoutputTuple)
    /// A changed row.
    case update(relation: PostgresOID, old: OldTuple?, new: PgoutputTuple)
    /// A row that is gone.
    case delete(relation: PostgresOID, old: OldTuple)
    /// Tables that were emptied at once.
    case truncate(relations: [PostgresOID], options: TruncateOptions)
    /// A message that was written with `pg_logical_emit_message`.
    case message(LogicalMessage)

    /// A row before its change.
    package enum OldTuple: Sendable, Hashable {
        /// The columns of the replica identity; all others are NULL. In an update: only when one of them has changed.
        case key(PgoutputTuple)
        /// All columns: the replica identity is `FULL`.
        case full(PgoutputTuple)
    }

    /// How tables were emptied.
    package struct TruncateOptions: OptionSet, Sendable, Hashable {
        package let rawValue: UInt8

        /// Tables that refer to the named ones, too.
        package static let cascade = TruncateOptions(rawValue: 1)
        /// Sequences began again.
        package static let restartIdentity = TruncateOptions(rawValue: 2)

        package init(rawValue: UInt8) {
            self.rawValue = rawValue
        }
    }

    /// A message that was written with `pg_logical_emit_message`.
    package struct LogicalMessage: Sendable, Hashable {
        /// Whether it belongs to the transaction that wrote it.
        ///
        /// Otherwise it comes at once, between transactions.
        package var isTransactional: Bool
        /// Where it stands.
        package var position: WALPosition
        /// The prefix, which names its receiver.
        package var prefix: String
        /// The content.
        package var content: ByteBuffer
    }
}

/// A table as a `Relation` message describes it.
package struct PgoutputRelation: Sendable, Hashable {
    /// How a table identifies its rows.
    package enum ReplicaIdentity: UInt8, Sendable, Hashable {
        /// By the primary key, if there is one.
        case primaryKey = 0x64
        /// Not at all.
        case nothing = 0x6e
        /// By all columns.
        case full = 0x66
        /// By the columns of an index.
        case index = 0x69
    }

    /// A column.
    package struct Column: Sendable, Hashable {
        /// Whether it is part of the replica identity.
        package var isInIdentity: Bool
        /// The name.
        package var name: String
        /// The type.
        package var type: PostgresOID
        /// The modifier of the type, such as a length; -1 for none.
        package var typeModifier: Int32
    }

    /// The table.
    package var oid: PostgresOID
    /// Its schema.
    package var schema: String
    /// Its name.
    package var name: String
    /// How it identifies its rows.
    package var replicaIdentity: ReplicaIdentity
    /// The columns that tuples have, in order.
    ///
    /// Generated columns, dropped ones, and those that the publication leaves out
    /// are not among them.
    package var columns: [Column]
}
