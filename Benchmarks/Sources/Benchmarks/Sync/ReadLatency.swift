import PowerSync

/// How long one kind of read takes through the public interface.
struct ReadLatency: Codable {
    /// What is read.
    var name: String
    /// How often it was read.
    var count: Int
    /// The median, in microseconds.
    var median: Double
    /// What 99 of 100 reads stay below, in microseconds.
    var percentile99: Double

    /// The rows of one owner.
    private static let filter = "SELECT id, title FROM lists WHERE owner = ?"
    private static let point = "SELECT title FROM lists WHERE id = ?"

    /// Reads points and indexed filters in turn, as long as a closure says.
    static func measure(
        _ database: any PowerSyncDatabaseProtocol,
        while isDue: () -> Bool
    ) async throws -> [ReadLatency] {
        let ids = try await database.getAll("SELECT id FROM lists ORDER BY id") { try $0.getString(index: 0) }
        var random = SplitMix64(seed: 7)
        var points: [Duration] = []
        var filters: [Duration] = []
        while isDue() {
            let id = ids[Int(random.next() % UInt64(ids.count))]
            let start = ContinuousClock.now
            _ = try await database.get(sql: point, parameters: [id]) { try $0.getString(index: 0) }
            let middle = ContinuousClock.now
            let owner = "user-\(random.next() % 1_000)"
            _ = try await database.getAll(sql: filter, parameters: [owner]) { try $0.getString(index: 1) }
            filters.append(ContinuousClock.now - middle)
            points.append(middle - start)
        }
        return [ReadLatency("point", points), ReadLatency("indexed_filter", filters)]
    }

    private init(_ name: String, _ durations: [Duration]) {
        let sorted = durations.sorted()
        func microseconds(_ share: Double) -> Double {
            sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))] / .microseconds(1)
        }
        self.name = name
        count = sorted.count
        median = microseconds(0.5)
        percentile99 = microseconds(0.99)
    }
}
