import Foundation
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import TestSupport
import Testing

/// Clients receive exactly the rows that SQLite selects for the same query over the same data.
///
/// Queries are drawn from the grammar, for editions 2 and 3. Where the language differs from SQLite on purpose (NULL, the truth
/// of texts, doubles as text), the SQL says so. `POWERSYNC_QUERIES` says how many queries are tried; 1,500 by default.
/// `POWERSYNC_QUERY_SEED` names one to be tried alone.
@Suite struct QueryModelTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let count = environment["POWERSYNC_QUERIES"].flatMap(UInt64.init) ?? 1500

    /// The seeds, in portions whose names tests have.
    static var portions: [ClosedRange<UInt64>] {
        if let seed = environment["POWERSYNC_QUERY_SEED"].flatMap(UInt64.init) { return [seed...seed] }
        return stride(from: 1, through: count, by: 300).map { $0...min($0 + 299, count) }
    }

    @Test(arguments: portions) func clientsReceiveWhatSQLiteSelects(seeds: ClosedRange<UInt64>) async throws {
        let model = try QueryModel()
        var checked = 0
        var selected = 0
        for seed in seeds {
            let edition = seed % 4 == 0 ? 2 : 3
            var source = QuerySource(seed: seed, edition: edition)
            let query = source.query()
            let yaml = query.config(edition: edition)
            let result = SyncConfig.parse(yaml)
            let codes = Set(result.diagnostics.filter { $0.severity == .error }.map(\.code))
            #expect(
                codes.isSubset(of: [
                    "filter.unrelated", "filter.too_complex", "filter.mixed_dependencies", "stream.too_many_buckets",
                    // A comparison with NULL, which SQLite takes: no row.
                    "filter.null",
                ]),
                "seed \(seed): \(result.diagnostics) \(yaml)"
            )
            guard let plan = result.plan else { continue }
            checked += 1
            let data = try await model.fill(seed: seed)
            var rehearsal = Rehearsal(try SyncPlan(encodedJSON: plan.encodedJSON()))
            for change in data {
                guard let row = change.row else { continue }
                rehearsal.add(row, of: SourceTableName(schema: "main", name: change.table))
            }
            #expect(rehearsal.problems.isEmpty, "seed \(seed): \(rehearsal.problems) \(yaml)")
            let request = SyncPlanRequest(tokenPayload: QuerySource.claims, parameters: QuerySource.parameters)
            let reply = await rehearsal.reply(to: request)
            #expect(reply.error == nil && reply.streams.allSatisfy(\.errors.isEmpty), "seed \(seed): \(yaml)")
            let received = Set(reply.rows.map(\.id))
            let expected = try await model.select(query.sql)
            selected += expected.count
            #expect(received == expected, "seed \(seed), edition \(edition): \(yaml)\n\(query.sql)\n\(data)")
        }
        // The others are refused, because a condition connects a table with nothing.
        #expect(seeds.count == 1 || checked * 10 > seeds.count * 7, "\(checked) of \(seeds)")
        #expect(seeds.count == 1 || selected > checked / 2, "\(selected) rows of \(checked) queries")
    }
}
