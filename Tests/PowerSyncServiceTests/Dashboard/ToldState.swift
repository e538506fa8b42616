@testable import PowerSyncService

/// What a service says in one of the states that people look at the dashboard for, and the line that the page has for it.
struct ToldState {
    /// The name of its pictures.
    var name: String
    /// What the line contains.
    var banner: String
    /// `bad` or `warn`.
    var kind: String
    /// The panel that the line leads to.
    var panel = "replication"
    /// What the service says.
    var snapshot: ServiceSnapshot

    private static let time = 1_800_000_000.0

    private static func snapshot(
        error: String? = nil,
        lag: Double? = nil,
        problem: String? = nil,
        _ streams: ServiceSnapshot.Stream...
    ) -> ServiceSnapshot {
        ServiceSnapshot(
            time: time,
            replication: ServiceSnapshot.Replication(
                source: "postgresql://db.example.com:5432/app",
                error: error,
                errorAt: error.map { _ in time - 90 },
                lagSeconds: lag,
                rows: 1200,
                bytes: 98_000,
                transactions: 40,
                streams: streams
            ),
            clients: ServiceSnapshot.Clients(
                streams: 0,
                users: 0,
                operations: 0,
                bytes: 0,
                heldBytes: 0,
                activities: [:],
                list: []
            ),
            storage: ServiceSnapshot.Storage(bytes: 4096, problems: problem.map { [$0] } ?? []),
            errors: []
        )
    }

    private static func stream(_ state: String, copy: ServiceSnapshot.Copy? = nil) -> ServiceSnapshot.Stream {
        ServiceSnapshot.Stream(
            id: 1,
            state: state,
            slot: "powersync_1",
            isCopied: copy == nil,
            tables: 3,
            copiedTables: copy?.copiedTables ?? 3,
            copy: copy
        )
    }

    static let all = [
        ToldState(
            name: "empty",
            banner: "No sync config is deployed: clients get nothing.",
            kind: "bad",
            panel: "config",
            snapshot: snapshot()
        ),
        ToldState(
            name: "copying",
            banner: "copied for the first time, 1,200 rows of public.todos so far, about 40 %: clients",
            kind: "warn",
            snapshot: snapshot(
                stream(
                    "PROCESSING",
                    copy: ServiceSnapshot.Copy(
                        table: "public.todos",
                        rows: 1200,
                        estimatedRows: 2990,
                        tables: 3,
                        copiedTables: 1
                    )
                )
            )
        ),
        ToldState(
            name: "copying-the-first-row",
            banner: "copied for the first time, 1 row of public.todos so far: clients",
            kind: "warn",
            snapshot: snapshot(
                stream(
                    "PROCESSING",
                    copy: ServiceSnapshot.Copy(table: "public.todos", rows: 1, tables: 3, copiedTables: 1)
                )
            )
        ),
        ToldState(
            name: "source-away",
            banner: "The server db.example.com does not answer.",
            kind: "bad",
            snapshot: snapshot(error: "The server db.example.com does not answer.", stream("ACTIVE"))
        ),
        ToldState(
            name: "full-disk",
            banner: Probes.Problem.storage.rawValue,
            kind: "bad",
            panel: "storage",
            snapshot: snapshot(problem: Probes.Problem.storage.rawValue, stream("ACTIVE"))
        ),
        ToldState(
            name: "lost-history",
            banner: "The source has lost its history",
            kind: "bad",
            snapshot: snapshot(stream("ERRORED"))
        ),
        ToldState(
            name: "lag",
            banner: "Clients have what the source had 5 min ago.",
            kind: "warn",
            snapshot: snapshot(lag: 300, stream("ACTIVE"))
        ),
    ]
}
