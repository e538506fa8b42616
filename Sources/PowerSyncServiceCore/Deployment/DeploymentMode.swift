/// What deploying a sync config does with what is stored.
package enum DeploymentMode: Sendable, Hashable {
    /// What deployments do: the stream with this text goes on; a text with parts of the config that is served takes its place in the
    /// same stream (``PlanContinuation``); any other one gets a new stream.
    case keepingParts
    /// The stream with this text goes on; any other one gets a new stream.
    case ifChanged
    /// A new stream copies the source again.
    case again
}
