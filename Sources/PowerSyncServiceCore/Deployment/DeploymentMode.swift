/// What deploying a sync config does when it is replicated already.
package enum DeploymentMode: Sendable, Hashable {
    /// Nothing: the stream with this text goes on.
    case ifChanged
    /// A new stream copies the source again.
    case again
}
