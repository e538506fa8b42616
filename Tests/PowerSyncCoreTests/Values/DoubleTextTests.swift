import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import TestSupport
import Testing

@testable import PowerSyncCore

/// Every finite double is read back and uploaded bit for bit, whatever the SQLite makes of its digits.
@Suite struct DoubleTextTests {
    /// Doubles of all magnitudes: random bits, decimals of up to 17 digits as people write them, and neighbours of powers.
    private static func doubles(_ random: inout SeededGenerator, count: Int) -> [Double] {
        (0..<count).compactMap { index in
            let value: Double =
                switch index % 4 {
                case 0: Double(bitPattern: random.next())
                case 1: Double(Int64(random.next() >> 20)) / 100
                case 2:
                    Double(random.next() >> UInt64(random.number(below: 60))) * .pow10(random.number(below: 40) - 20)
                default:
                    [Double.pow10(random.number(below: 600) - 300).nextUp, 1 / Double(random.number(below: 999) + 1)][
                        index / 4 % 2
                    ]
                }
            return value.isFinite ? value : nil
        }
    }

    @Test(arguments: [UInt64(1), 2, .random(in: 3...UInt64.max)]) func everyDoubleSurvives(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let values = Self.doubles(&random, count: 4_000)
        let database = try LocalTestDatabase(
            .items([ClientColumn(name: "r", type: .real), ClientColumn(name: "other", type: .integer)])
        )
        try database.queue.write { db in
            let insert = try db.makeStatement(sql: "INSERT INTO items(id, r) VALUES (?, ?)")
            for (index, value) in values.enumerated() { try insert.execute(arguments: ["\(index)", value]) }
        }
        func check() throws {
            let stored = try database.queue.read { db in
                try Double.fetchAll(db, sql: "SELECT r FROM items ORDER BY CAST(id AS INTEGER)")
            }
            #expect(stored.count == values.count)
            for (stored, value) in zip(stored, values) where stored.bitPattern != value.bitPattern {
                Issue.record("seed \(seed): \(value) is read as \(stored)")
            }
        }
        try check()
        let writes = try #require(try database.queue.read { try UploadQueue.batch($0, limit: values.count) }?.writes)
        for (write, value) in zip(writes, values) {
            guard case .double(let uploaded)? = write.data?["r"] else {
                Issue.record("seed \(seed): \(value) is uploaded as \(String(describing: write.data))")
                continue
            }
            #expect(uploaded.bitPattern == value.bitPattern, "seed \(seed)")
        }
        // Each row is written anew from what SQLite has read.
        try database.write("UPDATE items SET other = 1")
        try check()
        let patches = try #require(
            try database.queue.read { try UploadQueue.batch($0, limit: 2 * values.count) }?.writes
        )
        #expect(patches.suffix(values.count).allSatisfy { $0.data == ["other": 1] })
    }

    /// The texts of rows are decimals that name exactly the double, also where they are not the shortest.
    @Test func textsNameTheirDoubles() throws {
        var random = SeededGenerator(seed: 5)
        let values = Self.doubles(&random, count: 4_000)
        let database = try LocalTestDatabase(.items([ClientColumn(name: "r", type: .real)], isLocalOnly: true))
        try database.queue.write { db in
            let insert = try db.makeStatement(sql: "INSERT INTO items(id, r) VALUES (?, ?)")
            for (index, value) in values.enumerated() { try insert.execute(arguments: ["\(index)", value]) }
        }
        let rows = try database.texts("SELECT data FROM ps_data_local__items ORDER BY CAST(id AS INTEGER)")
        var longerCount = 0
        for (row, value) in zip(rows, values) {
            let text = try #require(row).dropFirst(5).dropLast()
            #expect(Double(text)?.bitPattern == value.bitPattern, "\(value)")
            longerCount += text == JSONText.number(value) ? 0 : 1
        }
        print("\(longerCount) of \(values.count) doubles need more digits on this SQLite")
    }

    /// What is not tried on the SQLite that is there has to be exact for one that calculates with doubles, too, as on machines
    /// without a wider type.
    @Test func textsThatAreNotTriedAreReadExactlyWithDoubles() {
        var random = SeededGenerator(seed: 6)
        var count = 0
        for _ in 0..<20_000 {
            // Up to 10 places after the point, and 17 digits.
            let whole = random.next() >> UInt64(14 + random.number(below: 50))
            let sign: Double = random.number(below: 2) == 0 ? 1 : -1
            let value = sign * (Double(whole) + Double(random.number(below: 1024)) / 1024)
            let text = JSONText.number(value)
            guard DoubleText.isExactForAllReaders(value, text) else { continue }
            count += 1
            let parts = text.split(separator: ".")
            let digits = Int64(parts.joined()) ?? 0
            let places = parts.count > 1 ? parts[1].utf8.count : 0
            #expect(Double(digits) / .pow10(places) == value, "\(text)")
        }
        #expect(count > 2_000)
        #expect(!DoubleText.isExactForAllReaders(0.1, "0.1"))
    }

    /// A connection that has tried numbers, and has never used the upload queue, leaves no statement open when it closes.
    @Test func connectionsClose() throws {
        let folder = try TemporaryFolder()
        let table = ClientTable.items([ClientColumn(name: "r", type: .real)], isLocalOnly: true)
        let queue = try DatabaseQueue(path: folder.path("a.db"), configuration: Configuration().forPowerSync())
        try queue.write { db in
            try SystemTables.migrate(db)
            try ClientSchema(tables: [table]).apply(to: db)
            try db.execute(sql: "INSERT INTO items(id, r) VALUES ('x', 0.1)")
        }
        try queue.close()
    }
}

extension Double {
    fileprivate static func pow10(_ exponent: Int) -> Double {
        Double("1e\(exponent)") ?? 1
    }
}
