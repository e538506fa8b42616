package import PowerSyncProtocol

/// Numbers of operations: how many there are to download, and how many were downloaded.
package struct OperationCounts: Sendable, Hashable {
    /// Operations to download.
    package var total: Int64
    /// Operations downloaded so far.
    package var downloaded: Int64

    /// Creates a pair of counts.
    package init(total: Int64 = 0, downloaded: Int64 = 0) {
        self.total = total
        self.downloaded = downloaded
    }

    /// The part that was downloaded, 0 … 1; 0 when there is nothing to download.
    package var fraction: Double {
        guard total > 0 else { return 0 }
        return min(1, max(0, Double(downloaded) / Double(total)))
    }

    /// Adds without overflow; hostile counts saturate.
    static func += (lhs: inout OperationCounts, rhs: OperationCounts) {
        lhs.total = lhs.total.addingSaturating(rhs.total)
        lhs.downloaded = lhs.downloaded.addingSaturating(rhs.downloaded)
    }
}

extension Int64 {
    /// The sum, or the nearest representable number.
    func addingSaturating(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }
}

/// How far the download of the tracked checkpoint has come, by priority.
package struct DownloadProgress: Sendable, Equatable {
    /// The buckets of one priority.
    package struct PriorityCounts: Sendable, Equatable {
        /// The priority of the buckets.
        package var priority: Priority
        /// The sums over the buckets.
        package var counts: OperationCounts

        /// Creates the counts of a priority.
        package init(priority: Priority, counts: OperationCounts) {
            self.priority = priority
            self.counts = counts
        }
    }

    /// The sums by priority, most urgent first.
    package var priorities: [PriorityCounts]

    /// Creates a progress from sums by priority, most urgent first.
    package init(priorities: [PriorityCounts] = []) {
        self.priorities = priorities
    }

    /// The sums over all buckets.
    package var overall: OperationCounts { untilPriority(.complete) }

    /// The sums over the buckets that a partial checkpoint of `priority` covers.
    package func untilPriority(_ priority: Priority) -> OperationCounts {
        var sum = OperationCounts()
        for entry in priorities where priority.includes(entry.priority) {
            sum += entry.counts
        }
        return sum
    }

    /// Adds counts to a priority.
    mutating func add(_ counts: OperationCounts, to priority: Priority) {
        let index = priorities.firstIndex { !$0.priority.isHigher(than: priority) } ?? priorities.endIndex
        if index < priorities.endIndex, priorities[index].priority == priority {
            priorities[index].counts += counts
        } else {
            priorities.insert(PriorityCounts(priority: priority, counts: counts), at: index)
        }
    }
}
