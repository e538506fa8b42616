/// What happens when an answer arrives faster than it is read.
package enum ResponsePausing: Sendable {
    /// The task is suspended, and resumed when most of what has arrived is read: the sender has to wait.
    case suspendsTask
    /// The request fails when too much is unread.
    case impossible

    /// What this platform can do.
    ///
    /// `URLSessionTask.suspend()` of swift-corelibs-foundation takes the request off the network; `resume()` sends it again from its
    /// beginning, without its body, and the answer starts over in the middle of what has been read.
    package static var platform: ResponsePausing {
        #if canImport(FoundationNetworking)
        .impossible
        #else
        .suspendsTask
        #endif
    }
}
