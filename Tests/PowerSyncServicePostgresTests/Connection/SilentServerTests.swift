import NIOCore
import NIOPosix
import PostgresTestSupport
import Testing

@testable import PowerSyncServicePostgres

/// Servers that are there and say nothing more, at each place in the life of a connection: TCP does not notice them.
@Suite(.timeLimit(.minutes(2))) struct SilentServerTests {
    private static let patience = Duration.milliseconds(500)

    /// Where a server falls silent.
    enum Place: CaseIterable {
        /// A statement that has not been answered.
        case statement
        /// Between two rows.
        case rows
        /// Between two statements, on a connection that was kept.
        case rest
    }

    private struct Count: RowReader {
        var count = 0
        var maximum: Int
        var wantsMore: Bool { count < maximum }

        mutating func read(_ row: LibPQ.Row) { count += 1 }
    }

    @Test(arguments: Place.allCases) func aServerThatFallsSilentIsGivenUp(_ place: Place) async throws {
        let cluster = try TestCluster()
        let connection = try await PostgresConnection.open(PostgresConnectionString(cluster.uri))
        let work: @Sendable () async throws -> Void
        switch place {
        case .statement:
            work = { try await connection.query("SELECT 1", timeout: Self.patience, activity: "asking") }
        case .rows:
            // More than the buffers of both ends have room for.
            let sql = "SELECT repeat('x', 10000) FROM generate_series(1, 100000)"
            try await connection.beginRows(of: sql, [], activity: "reading")
            _ = try await connection.nextRows(timeout: .seconds(30), activity: "reading", Count(maximum: 10))
            work = {
                _ = try await connection.nextRows(
                    timeout: Self.patience,
                    activity: "reading",
                    Count(maximum: 1_000_000)
                )
            }
        case .rest:
            work = { guard await connection.answers() else { throw PostgresError(.timeout, "", activity: "") } }
        }
        try cluster.freeze()
        await #expect {
            try await work()
        } throws: {
            ($0 as? PostgresError)?.code == .timeout
        }
        #expect(!connection.isUsable)
        try cluster.thaw()
        // A new connection is not held up by what has become of the old one.
        let next = try await PostgresConnection.open(PostgresConnectionString(cluster.uri))
        #expect(try await next.query("SELECT 1", activity: "asking") == [["1"]])
    }

    @Test(arguments: [PostgresConnection.Purpose.statements, .replication])
    func aServerThatNeverSaysAWordIsGivenUp(_ purpose: PostgresConnection.Purpose) async throws {
        let silent = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(silent.localAddress?.port)
        let string = PostgresConnectionString("host=127.0.0.1 port=\(port) user=a dbname=b connect_timeout=2")
        await #expect {
            _ = try await PostgresConnection.open(string, for: purpose)
        } throws: {
            ($0 as? PostgresError)?.code == .timeout
        }
        try await silent.close()
    }
}
