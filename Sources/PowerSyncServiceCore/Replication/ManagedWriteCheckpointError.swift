package import PowerSyncProtocol

/// A client has asked the service for a write checkpoint while rows of the source tell them (docs/service.md "Events").
///
/// Its number would be one of another count than those that the client is shown.
package struct ManagedWriteCheckpointError: CataloguedError, Sendable, CustomStringConvertible {
    /// Creates the error.
    package init() {}

    package var catalogueCode: ErrorCode? { .generic }

    /// What is wrong, in the words of the established service.
    package var description: String {
        "Attempting to create a managed Write Checkpoint while the sync config has custom Write Checkpoints"
    }

    package var uncodedDescription: String { description }

    /// What the app has to do.
    package var remedy: String {
        """
        The sync config has an event write_checkpoints or checkpoint_requests: complete uploads with \
        complete(writeCheckpoint:) and the number that the back end writes when they are through.
        """
    }
}
