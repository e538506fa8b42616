/// A reference in a collection, which does not keep its object alive.
package struct WeakReference<Object: AnyObject> {
    /// The object; `nil` when it is gone.
    package private(set) weak var object: Object?

    /// Refers to an object.
    package init(_ object: Object) {
        self.object = object
    }
}

extension WeakReference: Sendable where Object: Sendable {}
