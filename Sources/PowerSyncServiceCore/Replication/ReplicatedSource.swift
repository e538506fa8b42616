import PowerSyncSyncConfig

/// Wraps a `ReplicationSource`: marks its errors as errors of the source, and calls `touch` while a call runs, so that the liveness probe
/// does not end the process during a long one.
///
/// The report of a failed attempt says whether the source or the storage is to blame, which may be two PostgreSQL servers. So a
/// call throws a ``ReplicationSourceError``, in the words of the error that it was, or `CancellationError`.
///
/// Calls have time limits of their own, and some are hours: a slot is made when all transactions that run have ended. While a call
/// runs, `touch` is called every few seconds, but not while a change reader waits: it has to return after two seconds, and the
/// liveness probe has to detect one that does not.
struct ReplicatedSource: ReplicationSource {
    /// The time between two calls of `touch` while a call runs: below the 10 s of the liveness probe.
    static let signInterval = Duration.seconds(3)

    private let source: any ReplicationSource
    private let clock: any Clock<Duration>
    private let touch: @Sendable () -> Void

    /// Wraps a source.
    ///
    /// - Parameters:
    ///   - source: Does the work.
    ///   - clock: Measures ``signInterval``.
    ///   - touch: Called with each sign of life.
    init(_ source: any ReplicationSource, clock: any Clock<Duration>, touch: @escaping @Sendable () -> Void) {
        self.source = source
        self.clock = clock
        self.touch = touch
    }

    /// Makes a call that may take long.
    private func waiting<Result>(for call: () async throws -> Result) async throws -> Result {
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask { [clock, touch] in
                while true {
                    try await clock.sleep(for: Self.signInterval)
                    touch()
                }
            }
            do {
                return try await call()
            } catch {
                throw Self.named(error)
            }
        }
    }

    /// Marks an error of a call as one of the source, unless it is one already.
    private static func named(_ error: any Error) -> any Error {
        switch error {
        case is ReplicationSourceError, is CancellationError: error
        default: ReplicationSourceError(error)
        }
    }

    // MARK: Calls

    func checkConfiguration() async throws {
        try await waiting { try await source.checkConfiguration() }
    }

    func head(having known: SourcePosition?) async throws -> SourcePosition {
        try await waiting { try await source.head(having: known) }
    }

    func markedHead() async throws -> SourcePosition { try await waiting { try await source.markedHead() } }

    func require(_ position: LSN?, in handle: String) { source.require(position, in: handle) }

    func emitMarker() async throws {
        try await waiting { try await source.emitMarker() }
    }

    func prepareStream(
        _ handle: String,
        resumingAfter position: SourcePosition?,
        reached: LSN?
    ) async throws -> SourcePosition {
        try await waiting { try await source.prepareStream(handle, resumingAfter: position, reached: reached) }
    }

    func warn(about stream: ReplicationStream) async throws {
        try await waiting { try await source.warn(about: stream) }
    }

    func effect(
        ofColumnsOf table: SourceTableDescriptor,
        after earlier: SourceTableDescriptor,
        in handle: String
    ) -> ColumnEffect { source.effect(ofColumnsOf: table, after: earlier, in: handle) }

    func obstacle(to table: SourceTableDescriptor) async throws -> TableObstacle? {
        try await waiting { try await source.obstacle(to: table) }
    }

    func database() async throws -> DatabaseID? { try await waiting { try await source.database() } }

    func tables(for plan: SyncPlan) async throws -> [SourceTableDescriptor] {
        try await waiting { try await source.tables(for: plan) }
    }

    func snapshot(of table: SourceTableDescriptor, after key: SnapshotKey?) async throws -> any SnapshotReader {
        Rows(source: self, reader: try await waiting { try await source.snapshot(of: table, after: key) })
    }

    func waitUntilShown(_ table: SourceTableDescriptor) async throws {
        try await waiting { try await source.waitUntilShown(table) }
    }

    func checkRetention(for handle: String) async throws {
        try await waiting { try await source.checkRetention(for: handle) }
    }

    func withChanges<Result>(
        of handle: String,
        after position: SourcePosition,
        tables: [SourceTable],
        plan: SyncPlan,
        _ body: (inout any ChangeReader) async throws -> Result
    ) async throws -> Result {
        // Of the storage as likely as not: it comes back through the source, and is none of its errors.
        var bodyError: (any Error)?
        do {
            return try await source.withChanges(of: handle, after: position, tables: tables, plan: plan) { reader in
                var changes: any ChangeReader = Changes(reader: reader)
                do {
                    return try await body(&changes)
                } catch {
                    bodyError = error
                    throw error
                }
            }
        } catch {
            throw bodyError ?? Self.named(error)
        }
    }

    func wantsAcknowledgement(of lsn: LSN, by handle: String) -> Bool {
        source.wantsAcknowledgement(of: lsn, by: handle)
    }

    func wantsLastAcknowledgement(of lsn: LSN, by handle: String) -> Bool {
        source.wantsLastAcknowledgement(of: lsn, by: handle)
    }

    func acknowledge(_ position: DurablePosition, of handle: String) async throws {
        try await waiting { try await source.acknowledge(position, of: handle) }
    }

    func dropStream(_ handle: String) async throws {
        try await waiting { try await source.dropStream(handle) }
    }

    func uninstall() async throws { try await waiting { try await source.uninstall() } }

    func close() throws { try source.close() }

    var described: (any DescribedSource)? { source.described }
    var writable: (any WritableSource)? { source.writable }
    var retainedLog: (any LogRetainingSource)? { source.retainedLog }
    var rowReading: (any RowReadingSource)? { source.rowReading.map { RowReading(source: self, reading: $0) } }
    var fileBacked: (any FileBacked)? { source.fileBacked }

    // MARK: Readers

    private struct Rows: SnapshotReader {
        let source: ReplicatedSource
        var reader: any SnapshotReader

        mutating func next() async throws -> SnapshotChunk? {
            let source = source
            return try await source.waiting { try await reader.next() }
        }
    }

    private struct RowReading: RowReadingSource {
        let source: ReplicatedSource
        let reading: any RowReadingSource

        func rows(
            of table: SourceTableDescriptor,
            keys: [[SQLValue]],
            showing moments: Set<SourceMoment>
        ) async throws -> PresentRows {
            try await source.waiting { try await reading.rows(of: table, keys: keys, showing: moments) }
        }

        func shows(_ moment: SourceMoment) -> Bool { reading.shows(moment) }

        func releaseRows() async throws { try await source.waiting { try await reading.releaseRows() } }
    }

    private struct Changes: ChangeReader {
        var reader: any ChangeReader
        var silence: Duration? { reader.silence }

        mutating func next() async throws -> [SourceMessage] {
            do {
                return try await reader.next()
            } catch {
                throw ReplicatedSource.named(error)
            }
        }
    }
}
