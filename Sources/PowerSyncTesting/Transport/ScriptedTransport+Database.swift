public import Foundation
public import PowerSync

extension ScriptedTransport {
    /// Makes a database that syncs with this scripted service.
    ///
    /// ```swift
    /// let service = ScriptedTransport()
    /// let clock = TestClock()
    /// let database = service.makeDatabase(schema: schema, clock: clock)
    /// ```
    ///
    /// - Parameters:
    ///   - schema: The tables.
    ///   - dbFilename: `:memory:`, or an absolute path.
    ///   - clock: Measures delays, throttles and timeouts.
    ///   - now: The date, for time stamps in the database.
    ///   - logger: Receives messages.
    /// - Returns: The database. Delays are not varied at random.
    public func makeDatabase(
        schema: any SchemaProtocol,
        dbFilename: String = ":memory:",
        clock: any Clock<Duration> = TestClock(),
        now: @escaping @Sendable () -> Date = { Date() },
        logger: any LoggerProtocol = DefaultLogger(minSeverity: .error)
    ) -> any PowerSyncDatabaseProtocol {
        SyncedDatabase(
            schema: schema,
            dbFilename: dbFilename,
            logger: logger,
            environment: SyncEnvironment(transport: self, clock: clock, now: now, random: { 0.5 })
        )
    }
}
