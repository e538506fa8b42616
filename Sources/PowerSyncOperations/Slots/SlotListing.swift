import PowerSyncServiceCore
import PowerSyncTerminal

/// Replication slots for people and for tools.
package struct SlotListing: Encodable {
    /// One slot.
    package struct Entry: Encodable {
        package var name: String
        package var isUnused: Bool
        package var isActive: Bool
        package var retainedBytes: Int64?
        package var walStatus: String?
    }

    /// The source, without secrets.
    package var source: String
    /// What the names begin with.
    package var prefix: String
    /// The slots.
    package var slots: [Entry]

    package init(_ report: SlotReport) {
        source = report.source
        prefix = report.prefix
        slots = report.entries.map { entry in
            Entry(
                name: entry.slot.name,
                isUnused: entry.isUnused,
                isActive: entry.slot.isActive,
                retainedBytes: entry.slot.retainedBytes,
                walStatus: entry.slot.state
            )
        }
    }

    /// A table, below the name of the source.
    package var lines: [String] {
        guard !slots.isEmpty else { return ["\(source) has no replication slots whose names begin with \(prefix)"] }
        var table = TextTable(header: ["slot", "use", "kept log", "state"])
        table.rows = slots.map { slot in
            [
                slot.name, slot.isUnused ? "unused" : slot.isActive ? "being read" : "of a stream",
                slot.retainedBytes.map(ByteCount.text) ?? "none", slot.walStatus ?? "",
            ]
        }
        return [source] + table.lines
    }
}
