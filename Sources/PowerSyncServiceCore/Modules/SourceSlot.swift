/// What the server of a source keeps for a stream: as long as it exists, the server keeps its log for it.
package struct SourceSlot: Sendable, Hashable {
    /// The name.
    package let name: String
    /// Whether a process reads it at this moment.
    package let isActive: Bool
    /// The state of the kept log in the words of the server; `nil` when the server has none.
    package let state: String?
    /// The bytes of log that the server keeps for it; `nil` when it keeps nothing any more.
    package let retainedBytes: Int64?

    /// Creates a description.
    package init(name: String, isActive: Bool, state: String?, retainedBytes: Int64?) {
        self.name = name
        self.isActive = isActive
        self.state = state
        self.retainedBytes = retainedBytes
    }
}
