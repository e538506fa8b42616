import Foundation
import GRDB
import MySQLTestSupport
import PostgresNIO
import PowerSyncBackend
import PowerSyncBackendMySQL
import PowerSyncBackendPostgres

#if canImport(Glibc)
import Glibc
#endif

/// A backend in a process of its own that ends while it applies a request.
struct DyingBackend: Codable, Sendable {
    /// What has just happened when the process ends.
    enum Death: String, Codable, CaseIterable, Sendable {
        /// All writes of the request are decided about.
        case decided
        /// A part of what is committed is in the log of SQLite's file.
        case committing
        /// SQLite has committed, and the applier has not been told.
        case committed
        /// The applier has returned what is to be answered.
        case applied

        /// Whether the writes are in the database.
        var isBehindTheCommit: Bool { self == .committed || self == .applied }

        /// The signal by which the process ends.
        var signal: CInt { self == .committing ? SIGXFSZ : SIGKILL }

        /// `kill -9`.
        static func now() -> Never {
            kill(getpid(), SIGKILL)
            // The signal may come to another thread first.
            while true { pause() }
        }
    }

    /// What SQLite says about its commit.
    private final class CommitObserver: TransactionObserver {
        private let death: Death
        private let path: String

        init(_ death: Death, _ path: String) {
            self.death = death
            self.path = path
        }

        func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }

        func databaseDidChange(with event: DatabaseEvent) {}

        func databaseWillCommit() throws {
            guard death == .committing else { return }
            let log = try FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? UInt64 ?? 0
            // A page and a half; the commit has more of them.
            Self.limitFileSize(log + 6_000)
        }

        func databaseDidCommit(_ db: Database) {
            if death == .committed { Death.now() }
        }

        func databaseDidRollback(_ db: Database) {}

        /// The process ends by a signal when a file becomes larger, behind the bytes that are within the limit.
        private static func limitFileSize(_ bytes: UInt64) {
            #if canImport(Glibc)
            var core = rlimit(rlim_cur: 0, rlim_max: 0)
            setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &core)
            var limit = rlimit(rlim_cur: rlim_t(bytes), rlim_max: rlim_t(bytes))
            setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
            // The threads of a child may have it blocked, and would get an error of the file.
            signal(SIGXFSZ, SIG_DFL)
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGXFSZ)
            pthread_sigmask(SIG_UNBLOCK, &signals, nil)
            #endif
        }
    }

    private let kind: Kind
    private let place: String
    private let death: Death
    private let request: Data

    /// What a process needs.
    ///
    /// - Parameters:
    ///   - kind: The kind of the database.
    ///   - place: ``AppDatabase/place``.
    ///   - death: When the process ends.
    ///   - request: What it applies.
    init(_ kind: Kind, _ place: String, _ death: Death, _ request: UploadRequest) {
        self.kind = kind
        self.place = place
        self.death = death
        self.request = Data(request.json)
    }

    /// Applies the request, and ends the process on the way.
    func run() async throws {
        let request = try UploadRequest(json: request)
        let last = request.entries.last?.operationID
        let rule = Rule.about { [death] entry in
            if death == .decided, entry.operationID == last { Death.now() }
            return .apply
        }
        let options = UploadApplierOptions()
        switch kind {
        case .sqlite:
            let database = try SQLiteAppDatabase.pool(place)
            database.add(transactionObserver: CommitObserver(death, place), extent: .databaseLifetime)
            try await apply(request, by: SQLiteAppDatabase.applier(database, options, rule))
        case .postgres:
            let client = PostgresClient(configuration: try PostgresAppDatabase.configuration(place))
            try await withThrowingTaskGroup { tasks in
                tasks.addTask { await client.run() }
                let authorize = PostgresAppDatabase.authorization(rule)
                try await apply(request, by: PostgresUploadApplier(client, options: options, authorize: authorize))
                tasks.cancelAll()
            }
        case .mysql:
            let settings = MySQLAppDatabase.settings(place, in: try .shared())
            try await apply(request, by: MySQLAppDatabase.applier(settings, options, rule))
        }
    }

    private func apply(_ request: UploadRequest, by applier: any UploadApplier) async throws {
        _ = try await applier.apply(request, for: BackendUser(id: "u1"))
        if death == .applied { Death.now() }
    }
}
