// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A thread for a call of the system that waits for people: signals, standard input. It ends with the process.
package enum BackgroundThread {
    private final class Body {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    package static func start(_ body: @escaping @Sendable () -> Void) {
        let context = unsafe Unmanaged.passRetained(Body(body)).toOpaque()
        #if canImport(Glibc)
            var thread = pthread_t()
            let status = unsafe pthread_create(
                &thread, nil,
                { pointer in
                    if let pointer = unsafe pointer { unsafe Unmanaged<Body>.fromOpaque(pointer).takeRetainedValue().run() }
                    return nil
                }, context)
            if status == 0 { pthread_detach(thread) }
        #else
            var thread: pthread_t?
            let status = unsafe pthread_create(
                &thread, nil,
                { pointer in
                    unsafe Unmanaged<Body>.fromOpaque(pointer).takeRetainedValue().run()
                    return nil
                }, context)
            if status == 0, let thread = unsafe thread { unsafe pthread_detach(thread) }
        #endif
        if status != 0 { unsafe Unmanaged<Body>.fromOpaque(context).release() }
    }
}
