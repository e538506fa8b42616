#if canImport(SwiftUI)
public import SwiftUI

// What SwiftUI needs to use `ObservedQuery`. Declarations only: all behaviour is there, where it is tested on every platform.

private struct PowerSyncDatabaseKey: EnvironmentKey {
    static let defaultValue: (any PowerSyncDatabaseProtocol)? = nil
}

extension EnvironmentValues {
    /// The database of ``WatchedQuery`` and ``SyncState``.
    public var powerSync: (any PowerSyncDatabaseProtocol)? {
        get { self[PowerSyncDatabaseKey.self] }
        set { self[PowerSyncDatabaseKey.self] = newValue }
    }
}

/// The rows of a query in a view.
///
/// ```swift
/// @WatchedQuery("SELECT * FROM todos ORDER BY title", as: Todo.self) private var todos
/// ```
///
/// The database is that of the environment: `.environment(\.powerSync, database)`. `$todos` is the ``ObservedQuery``.
@available(macOS 14.0, iOS 17.0, watchOS 10.0, tvOS 17.0, *)
@MainActor
@propertyWrapper
public struct WatchedQuery<Row: Decodable & Sendable & Equatable>: DynamicProperty {
    @Environment(\.powerSync) private var database
    @State private var query: ObservedQuery<Row>
    private let sql: String
    private let parameters: [(any Sendable)?]
    private let previousRows: ObservedQuery<Row>.PreviousRows

    /// Watches a query.
    public init(
        _ sql: String,
        parameters: [(any Sendable)?] = [],
        as type: Row.Type,
        until previousRows: ObservedQuery<Row>.PreviousRows = .cleared,
        synced: SyncRequirement = .everything
    ) {
        let query = ObservedQuery(nil, sql: sql, parameters: parameters, as: type, synced: synced)
        (_query, self.sql, self.parameters) = (State(initialValue: query), sql, parameters)
        self.previousRows = previousRows
    }

    /// Watches a query whose rows have ids.
    public init(
        _ sql: String,
        parameters: [(any Sendable)?] = [],
        as type: Row.Type,
        until previousRows: ObservedQuery<Row>.PreviousRows = .cleared,
        synced: SyncRequirement = .everything
    ) where Row: Identifiable {
        let query = ObservedQuery(nil, sql: sql, parameters: parameters, as: type, synced: synced)
        (_query, self.sql, self.parameters) = (State(initialValue: query), sql, parameters)
        self.previousRows = previousRows
    }

    /// The rows.
    public var wrappedValue: [Row] { projectedValue.rows }

    /// The query, with its error, and whether there is a result.
    public var projectedValue: ObservedQuery<Row> {
        query.follow(sql: sql, parameters: parameters, in: database, until: previousRows)
        return query
    }
}

/// The sync status of the database of the environment in a view.
///
/// ```swift
/// @SyncState private var status
/// // if status.connecting { ProgressView() }
/// ```
@available(macOS 14.0, iOS 17.0, watchOS 10.0, tvOS 17.0, *)
@MainActor
@propertyWrapper
public struct SyncState: DynamicProperty {
    @Environment(\.powerSync) private var database

    /// Follows the status.
    public init() {}

    /// The status; without a database, that of one that was never opened.
    public var wrappedValue: ObservableSyncStatus { .of(database) }
}
#endif
