import NIOConcurrencyHelpers

/// Finds rows of `ps_oplog` by the hash of their key while the index over keys does not exist; see ``OplogAccess``.
///
/// An open-addressing table from a 32-bit hash of (bucket, key) to a row id, eight bytes an entry. It holds a superset
/// of the truth: entries are never removed, those of a rolled-back transaction stay, and different keys may have the
/// same hash. So a caller that looks up a key has to compare it with the one in the row.
///
/// It is an object that copies of the engine value share, which its being a superset allows: copying it for every
/// transaction would cost more than it saves.
final class KeyDirectory: Sendable {
    private struct Entry {
        var hash: UInt32
        /// 0 marks a free place.
        var rowID: UInt32

        static let free = Entry(hash: 0, rowID: 0)
    }

    private struct Table {
        /// The number of places is a power of two, at least twice the number of entries.
        var entries: [Entry] = Array(repeating: .free, count: 1 << 12)
        var count = 0
        /// Set when an entry could not be stored, so that a key that is not found may exist, or when there is another
        /// reason not to go on.
        var isExhausted = false

        /// Stores an entry at the first free place from where its hash points to.
        mutating func place(_ entry: Entry) {
            let mask = entries.count - 1
            var index = Int(truncatingIfNeeded: entry.hash) & mask
            while entries[index].rowID != 0 { index = (index + 1) & mask }
            entries[index] = entry
        }

        mutating func grow() {
            let old = entries
            entries = Array(repeating: .free, count: old.count * 2)
            for entry in old where entry.rowID != 0 { place(entry) }
        }
    }

    /// The largest number of entries; the table then takes 64 MiB.
    private static let maximumCount = 4_000_000

    private let table = NIOLockedValueBox(Table())

    /// Whether every key is here, and those of so many more rows will be.
    ///
    /// If not, the index is needed after all.
    func hasRoom(for count: Int) -> Bool {
        table.withLockedValue { !$0.isExhausted && $0.count <= Self.maximumCount - count }
    }

    /// Says that looking up keys takes too long, for example because one row comes and goes all the time; from the next
    /// line on the index is used.
    func abandon() {
        table.withLockedValue { $0.isExhausted = true }
    }

    /// Adds a row.
    func insert(_ hash: UInt64, rowID: Int64) {
        table.withLockedValue { table in
            guard let rowID = UInt32(exactly: rowID), rowID > 0, table.count < Self.maximumCount else {
                table.isExhausted = true
                return
            }
            if table.count >= table.entries.count / 2 { table.grow() }
            table.place(Entry(hash: Self.fold(hash), rowID: rowID))
            table.count += 1
        }
    }

    /// Calls a closure with every row id that may have a key of this hash, and not while the table is locked.
    func forEachRowID(_ hash: UInt64, _ body: (Int64) throws -> Void) rethrows {
        var probe = 0
        while let rowID = rowID(Self.fold(hash), from: &probe) {
            try body(rowID)
        }
    }

    /// The first candidate at or after a probe; moves `probe` behind it.
    private func rowID(_ hash: UInt32, from probe: inout Int) -> Int64? {
        table.withLockedValue { table in
            let mask = table.entries.count - 1
            while true {
                let entry = table.entries[(Int(truncatingIfNeeded: hash) &+ probe) & mask]
                probe += 1
                if entry.rowID == 0 { return nil }
                if entry.hash == hash { return Int64(entry.rowID) }
            }
        }
    }

    /// The half of a hash that is kept.
    static func fold(_ hash: UInt64) -> UInt32 {
        UInt32(truncatingIfNeeded: hash ^ (hash >> 32))
    }
}
