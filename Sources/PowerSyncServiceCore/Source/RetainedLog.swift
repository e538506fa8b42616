/// What the server of a source keeps of its log for a stream that reads its changes.
package struct RetainedLog: Sendable, Hashable {
    /// What the source keeps the stream under.
    package var handle: String
    /// The bytes behind the position that was acknowledged last; `nil` when the server does not know it.
    package var unacknowledgedBytes: Int64?
    /// The bytes that are kept, also for transactions that began earlier; `nil` when nothing is kept any more.
    package var retainedBytes: Int64?

    /// Creates a description.
    package init(handle: String, unacknowledgedBytes: Int64?, retainedBytes: Int64?) {
        self.handle = handle
        self.unacknowledgedBytes = unacknowledgedBytes
        self.retainedBytes = retainedBytes
    }
}

/// A source whose server keeps its log until changes are acknowledged: without acknowledgements, its disk fills.
package protocol LogRetainingSource: Sendable {
    /// What is kept under the handles of the service, also under those that no stream needs any more.
    ///
    /// - Throws: An error of the source.
    func retainedLogs() async throws -> [RetainedLog]
}
