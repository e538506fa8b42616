import Logging
import PowerSyncSyncConfig

extension Logger.Metadata {
    /// Adds an error, with what only operators are told of it: which streams or lookups need how much of a limit, and what to do.
    package mutating func add(_ error: any Error) {
        self[LogKey.error] = "\(error)"
        guard let error = error as? BucketLimitError else { return }
        self[LogKey.remedy] = "\(error.remedy)"
        guard !error.breakdown.isEmpty else { return }
        self[LogKey.usage] = .array(error.breakdown.map { "\($0.name): \($0.count)" })
    }
}
