/// What a run of compaction has done (docs/service.md "Compaction").
package struct CompactionResult: Sendable, Equatable {
    /// Operations whose row was written again later: only their checksum is left.
    package var movedOperations = 0
    /// Operations at the beginning of buckets that were replaced by a single one.
    package var clearedOperations = 0
    /// Entries of parameter indexes that were deleted.
    package var deletedEntries = 0
    /// Buckets and lookups of parts that no sync config has any more, which were deleted with all that they had.
    package var deletedLeftovers = 0
    /// Checkpoint requests of clients that were deleted.
    package var deletedRequests = 0

    /// Creates the result of a run that found nothing.
    package init() {}
}
