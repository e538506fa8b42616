package import PowerSyncServiceCore

/// What the server keeps of its log for the service.
extension PostgresSource: LogRetainingSource {
    package var retainedLog: (any LogRetainingSource)? { self }

    package func retainedLogs() async throws -> [RetainedLog] {
        let prefix = settings.slotNamePrefix
        return try await pool.withConnection { try await $0.slots(withPrefix: prefix) }.map { slot in
            RetainedLog(
                handle: slot.name,
                unacknowledgedBytes: slot.unacknowledgedBytes,
                retainedBytes: slot.retainedBytes
            )
        }
    }
}
