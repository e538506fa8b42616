import PowerSyncProtocol

/// A number of operations to download, and how many of them are here.
public protocol ProgressWithOperations: Sendable {
    /// How many operations the current download has in total.
    var totalOperations: Int32 { get }
    /// How many of them have been downloaded.
    var downloadedOperations: Int32 { get }
}

extension ProgressWithOperations {
    /// The share that has been downloaded, 0 … 1; 0 when there is nothing to download.
    public var fraction: Float {
        guard totalOperations > 0 else { return 0 }
        return min(1, max(0, Float(downloadedOperations) / Float(totalOperations)))
    }
}

/// The progress of the current download.
///
/// Operations that were downloaded before an interruption count as downloaded.
public protocol SyncDownloadProgress: ProgressWithOperations {
    /// The progress towards having all data of a priority and of more urgent ones.
    ///
    /// - Parameter priority: The priority to reach.
    /// - Returns: The sums over these priorities.
    func untilPriority(priority: BucketPriority) -> any ProgressWithOperations
}

extension ProgressWithOperations {
    /// `40 of 100 operations`.
    var operationsText: String { "\(downloadedOperations) of \(totalOperations.counted("operation"))" }
}
