public import Foundation

@available(macOS 14.0, iOS 17.0, watchOS 10.0, tvOS 17.0, *)
extension ObservedQuery {
    /// Creates a query whose rows have no id.
    ///
    /// - Parameters:
    ///   - database: The database; `nil` if it is told later, with ``follow(sql:parameters:in:until:)``.
    ///   - options: The query.
    ///   - requirement: What ``hasSynced`` is about.
    public convenience init(
        _ database: (any PowerSyncDatabaseProtocol)?,
        options: WatchOptions<Row>,
        synced requirement: SyncRequirement = .everything
    ) {
        self.init(database, options, requirement, .byPosition())
    }

    /// Creates a query whose rows are known by their ids.
    ///
    /// - Parameters:
    ///   - database: The database; `nil` if it is told later, with ``follow(sql:parameters:in:until:)``.
    ///   - options: The query.
    ///   - requirement: What ``hasSynced`` is about.
    public convenience init(
        _ database: (any PowerSyncDatabaseProtocol)?,
        options: WatchOptions<Row>,
        synced requirement: SyncRequirement = .everything
    ) where Row: Identifiable {
        self.init(database, options, requirement, .byID())
    }

    /// Creates a query whose rows are of a type, such as a count.
    ///
    /// - Parameters:
    ///   - database: The database; `nil` if it is told later, with ``follow(sql:parameters:in:until:)``.
    ///   - sql: The query.
    ///   - parameters: Values for `?`.
    ///   - throttle: The least time between two results, in seconds.
    ///   - type: What a row is.
    ///   - format: How names and dates are written.
    ///   - requirement: What ``hasSynced`` is about.
    public convenience init(
        _ database: (any PowerSyncDatabaseProtocol)?,
        sql: String,
        parameters: [(any Sendable)?] = [],
        throttle: TimeInterval = DEFAULT_WATCH_THROTTLE,
        as type: Row.Type,
        format: RowFormat = RowFormat(),
        synced requirement: SyncRequirement = .everything
    ) where Row: Decodable {
        let options = WatchOptions(sql: sql, parameters: parameters, throttle: throttle, as: type, format: format)
        self.init(database, options, requirement, .byPosition())
    }

    /// Creates a query whose rows are of a type with an id.
    ///
    /// - Parameters:
    ///   - database: The database; `nil` if it is told later, with ``follow(sql:parameters:in:until:)``.
    ///   - sql: The query.
    ///   - parameters: Values for `?`.
    ///   - throttle: The least time between two results, in seconds.
    ///   - type: What a row is.
    ///   - format: How names and dates are written.
    ///   - requirement: What ``hasSynced`` is about.
    public convenience init(
        _ database: (any PowerSyncDatabaseProtocol)?,
        sql: String,
        parameters: [(any Sendable)?] = [],
        throttle: TimeInterval = DEFAULT_WATCH_THROTTLE,
        as type: Row.Type,
        format: RowFormat = RowFormat(),
        synced requirement: SyncRequirement = .everything
    ) where Row: Decodable & Identifiable {
        let options = WatchOptions(sql: sql, parameters: parameters, throttle: throttle, as: type, format: format)
        self.init(database, options, requirement, .byID())
    }
}
