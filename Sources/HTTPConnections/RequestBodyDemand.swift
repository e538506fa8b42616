/// An outbound event: the route begins to read the body of a request.
///
/// A client that has said `Expect: 100-continue` keeps the body until then, and is told to send it. Triggered on the
/// channel of the connection; without effect when the body is being sent already.
package enum RequestBodyDemand: Sendable {
    case now
}
