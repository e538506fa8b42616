import NIOConcurrencyHelpers
import PowerSyncMySQLConnection
package import PowerSyncServiceCore
package import PowerSyncSyncConfig

/// Copies of tables, and rows by their keys.
extension MySQLSource: RowReadingSource {
    package func snapshot(
        of table: SourceTableDescriptor,
        after key: SnapshotKey?
    ) async throws -> any SnapshotReader {
        guard !MySQLTable.isUnopened(table) else { throw unopened(table.name) }
        let connection = try await connector.open()
        do {
            // Of a table that is no longer what was described, nothing is read.
            _ = try await form(of: table, connection)
        } catch {
            connection.close()
            throw error
        }
        return MySQLSnapshotReader(
            of: self,
            descriptor: table,
            connection: connection,
            position: key.flatMap { MySQLCopyPosition($0) }
        )
    }

    package func rows(
        of table: SourceTableDescriptor,
        keys: [[SQLValue]],
        showing moments: Set<SourceMoment>
    ) async throws -> PresentRows {
        do {
            return try await rowView.reading {
                try await MySQLRowView(of: self)
            } orIf: { error in
                (error as? MySQLConnectionError).map { $0.code != .server } ?? false
            } _: { view in
                try await view.rows(of: table, keys: keys, showing: moments.map { LogMoment($0) })
            }
        } catch let error as MySQLConnectionError {
            throw explain(error, of: table)
        }
    }

    package func shows(_ moment: SourceMoment) -> Bool {
        rowView.keeps { $0.shows([LogMoment(moment)]) }
    }

    package func releaseRows() async throws { try await rowView.release() }

    /// What makes the rows of a table, which is what was described.
    ///
    /// - Throws: ``ReplicationSourceError`` with code `tablesChanged`.
    func form(of table: SourceTableDescriptor, _ connection: MySQLConnection) async throws -> MySQLRowForm {
        guard let options = table.valueOptions else { throw outdated(table) }
        // One that this process has not described is another one.
        guard let columns = readColumns.withLockedValue({ $0[table] }),
            var found = try await MySQLCatalogue.table(table.name, reading: columns, settings, connection)
        else { throw outdated(table) }
        // Foreign keys are looked at with all tables.
        found.references = table.references
        guard descriptor(of: found, options) == table else { throw outdated(table) }
        return MySQLRowForm(found, reading: columns, options)
    }

    /// What an error means that a query of a table has ended with.
    func explain(_ error: MySQLConnectionError, of table: SourceTableDescriptor) -> any Error {
        switch error.serverCode {
        // There is no such table, column or schema, or another one than the transaction began with.
        case 1146, 1054, 1049, 1412, 1176: outdated(table)
        default: error
        }
    }
}
