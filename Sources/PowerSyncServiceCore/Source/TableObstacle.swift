package import PowerSyncSyncConfig

/// Why a table that a sync config reads is left out for now (docs/service.md "What a source promises").
///
/// A fault of one table is its own: the others go on, log, status and readiness name it, and it is copied by itself when what
/// is in the way is gone.
package struct TableObstacle: Sendable, Hashable {
    /// What is in the way.
    package enum Reason: String, Sendable, Hashable {
        /// Another session has locked the table, and will let go of it.
        case locked
        /// The database cannot open the table, which is damaged: for other clients, too, it cannot be read or written.
        case damaged
        /// The service may not read the table.
        case notReadable
        /// The source reports an error when the table is read.
        case failing
    }

    /// The table.
    package var table: SourceTableName
    /// What is in the way.
    package var reason: Reason
    /// What is in the way and what mends it, in sentences.
    package var message: String
    /// When it was found first, in seconds since 1970.
    package var since: Double

    /// Creates an obstacle.
    package init(table: SourceTableName, reason: Reason, message: String, since: Double) {
        self.table = table
        self.reason = reason
        self.message = message
        self.since = since
    }

    /// Whether clients keep the rows that they have: they are what the table has as long as no other client can write it, and are replaced
    /// as soon as it can be read.
    ///
    /// Otherwise the table counts as missing, for an unknown time.
    var keepsRows: Bool { reason == .locked || reason == .damaged }
}

extension TableObstacle: CustomStringConvertible {
    package var description: String { message }
}
