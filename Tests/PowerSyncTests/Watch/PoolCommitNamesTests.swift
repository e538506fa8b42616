import Foundation
import GRDB
import TestSupport
import Testing

@testable import PowerSyncClient

/// Whether the tables that a pool names stand for the commit that is seen.
@Suite(.timeLimit(.minutes(1))) struct PoolCommitNamesTests {
    /// A file that a pool and a connection of ours write to, and what is known of the pool's commits.
    private struct Scene {
        let pool: PlainPool
        let writer: DatabaseQueue
        let commits: PoolCommits

        /// The pool writes a row.
        func commit() async throws {
            _ = try await pool.write { try $0.execute(sql: "INSERT INTO t VALUES (1)", parameters: []) }
        }

        func look(hasCommit: Bool) async -> Bool {
            await commits.hasNews(writer, hasCommit: hasCommit)
        }
    }

    private func withScene(_ body: (Scene) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "app.db").path
            let pool = PlainPool(path: path)
            _ = try await pool.write { try $0.execute(sql: "CREATE TABLE t (x)", parameters: []) }
            let scene = Scene(pool: pool, writer: try DatabaseQueue(path: path), commits: PoolCommits(pool))
            // What is asked first has nothing to compare with.
            _ = await scene.look(hasCommit: true)
            _ = await scene.look(hasCommit: false)
            try await body(scene)
            try scene.writer.close()
        }
    }

    @Test func namesBeforeTheCommitIsSeenAreEnough() async throws {
        try await withScene { scene in
            for _ in 0..<3 {
                try await scene.commit()
                scene.commits.poolDidNameTables()
                #expect(await !scene.look(hasCommit: true))
                #expect(await !scene.look(hasCommit: false))
            }
        }
    }

    @Test func namesAfterTheCommitIsSeenAreEnough() async throws {
        try await withScene { scene in
            for _ in 0..<3 {
                try await scene.commit()
                #expect(await !scene.look(hasCommit: true))
                scene.commits.poolDidNameTables()
                #expect(await !scene.look(hasCommit: false))
            }
        }
    }

    @Test func commitWithoutNamesMayBeAnything() async throws {
        try await withScene { scene in
            try await scene.commit()
            #expect(await !scene.look(hasCommit: true))
            #expect(await scene.look(hasCommit: false))
            #expect(await !scene.look(hasCommit: false))
        }
    }

    @Test func namesOfAnEarlierCommitDoNotStandForALaterOne() async throws {
        try await withScene { scene in
            scene.commits.poolDidNameTables()
            #expect(await !scene.look(hasCommit: false))
            try await scene.commit()
            #expect(await !scene.look(hasCommit: true))
            #expect(await scene.look(hasCommit: false))
        }
    }

    @Test func commitOfSomebodyElseIsNewsWhateverThePoolNames() async throws {
        try await withScene { scene in
            let other = try DatabaseQueue(path: scene.writer.path)
            try await other.write { try $0.execute(sql: "INSERT INTO t VALUES (2)") }
            scene.commits.poolDidNameTables()
            #expect(await scene.look(hasCommit: true))
            try other.close()
        }
    }
}
