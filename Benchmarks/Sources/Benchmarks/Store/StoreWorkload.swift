import PowerSyncSyncConfig
import PowerSyncServiceCore

/// The rows of the storage's benchmarks: random UUID ids, about 217 bytes of JSON, in 20,000 buckets and a large one.
///
/// Every tenth row belongs to the large bucket; the others are spread at random, as rows of users are.
struct StoreWorkload {
    /// The number of small buckets.
    static let owners = 20_000

    /// The config: a bucket for each owner.
    static let config = """
        config: {edition: 3}
        streams:
          items: {auto_subscribe: true, query: "SELECT * FROM items WHERE owner_id = auth.user_id()"}
        """

    /// The source table.
    static let table = SourceTableDescriptor(
        name: SourceTableName(schema: "main", name: "items"),
        relationID: "items",
        identity: [SourceTableDescriptor.IdentityColumn(name: "id", type: "TEXT")]
    )

    /// The name of an owner; `nil` is the one with the large bucket.
    static func owner(_ number: Int?) -> String {
        number.map { "user-\(100_000 + $0)" } ?? "everyone"
    }

    /// The row with a number: always the same one, but for its text.
    static func row(_ number: Int, version: UInt64 = 0) -> SourceRow {
        var identity = SplitMix64(seed: UInt64(number))
        let id = uuid(identity.next(), identity.next())
        let owner = number % 10 == 0 ? nil : Int(identity.next() % UInt64(owners))
        var random = SplitMix64(seed: UInt64(number) ^ version << 40)
        return SourceRow(
            layout: layout,
            values: [
                .text(id), .text(Self.owner(owner)), .integer(Int64(number)), .text(title(&random)), 0,
            ]
        )
    }

    private static let layout = RowLayout(["id", "owner_id", "number", "title", "done"])

    private static func title(_ random: inout SplitMix64) -> String {
        let characters = Array("abcdefghijklmnopqrstuvwxyz 012345".utf8)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(112)
        for _ in 0..<14 {
            var word = random.next()
            for _ in 0..<8 {
                bytes.append(characters[Int(word & 31)])
                word >>= 8
            }
        }
        return String(decoding: bytes.prefix(110), as: UTF8.self)
    }

    private static func uuid(_ high: UInt64, _ low: UInt64) -> String {
        let digits = [UInt8]("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for position in 0..<32 {
            if [8, 12, 16, 20].contains(position) { text.append(UInt8(ascii: "-")) }
            let word = position < 16 ? high : low
            text.append(digits[Int(word >> UInt64(60 - 4 * (position % 16)) & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}
