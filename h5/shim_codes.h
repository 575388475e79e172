/* The names of libhdf5's error numbers. The library gives them ids at run time, so that a number means nothing
 * outside the process; the name is what stays. */
#ifndef HYPERSLAB_H5_SHIM_CODES_H
#define HYPERSLAB_H5_SHIM_CODES_H

#define GOH5_MAJORS(X)                                                                                                 \
    X(ARGS)                                                                                                            \
    X(ATTR)                                                                                                            \
    X(BTREE)                                                                                                           \
    X(CACHE)                                                                                                           \
    X(CONTEXT) X(DATASET) X(DATASPACE) X(DATATYPE) X(EARRAY) X(EFL) X(ERROR) X(EVENTSET) X(FARRAY) X(FILE) X(FSPACE)   \
        X(FUNC) X(HEAP) X(ID) X(INTERNAL) X(IO) X(LIB) X(LINK) X(MAP) X(NONE_MAJOR) X(OHDR) X(PAGEBUF) X(PLINE)        \
            X(PLIST) X(PLUGIN) X(REFERENCE) X(RESOURCE) X(RS) X(SLIST) X(SOHM) X(STORAGE) X(SYM) X(TST) X(VFL) X(VOL)

#define GOH5_MINORS(X)                                                                                                 \
    X(BADRANGE)                                                                                                        \
    X(BADTYPE)                                                                                                         \
    X(BADVALUE)                                                                                                        \
    X(UNINITIALIZED)                                                                                                   \
    X(UNSUPPORTED) X(CANTCANCEL) X(CANTWAIT) X(CANTDECODE) X(CANTENCODE) X(CANTFIND) X(CANTINSERT) X(CANTLIST)         \
        X(CANTMODIFY) X(CANTREDISTRIBUTE) X(CANTREMOVE) X(CANTSPLIT) X(CANTSWAP) X(EXISTS) X(NOTFOUND) X(CANTCLEAN) X( \
            CANTCORK) X(CANTDEPEND) X(CANTDIRTY) X(CANTEXPUNGE) X(CANTFLUSH) X(CANTINS) X(CANTLOAD) X(CANTMARKCLEAN)   \
            X(CANTMARKDIRTY) X(CANTMARKSERIALIZED) X(CANTMARKUNSERIALIZED) X(CANTNOTIFY) X(CANTPIN) X(CANTPROTECT) X(  \
                CANTRESIZE) X(CANTSERIALIZE) X(CANTTAG) X(CANTUNCORK) X(CANTUNDEPEND) X(CANTUNPIN) X(CANTUNPROTECT)    \
                X(CANTUNSERIALIZE) X(LOGGING) X(NOTCACHED) X(PROTECT) X(SYSTEM) X(BADSELECT) X(CANTAPPEND) X(CANTCLIP) \
                    X(CANTCOMPARE) X(CANTCOUNT) X(CANTNEXT) X(CANTSELECT) X(INCONSISTENTSTATE) X(CLOSEERROR) X(FCNTL)  \
                        X(OVERFLOW) X(READERROR) X(SEEKERROR) X(WRITEERROR) X(BADFILE) X(CANTCLOSEFILE) X(CANTCREATE)  \
                            X(CANTDELETEFILE) X(CANTLOCKFILE) X(CANTOPENFILE) X(CANTUNLOCKFILE) X(FILEEXISTS)          \
                                X(FILEOPEN) X(MOUNT) X(NOTHDF5) X(TRUNCATED) X(UNMOUNT) X(CANTMERGE) X(CANTREVIVE)     \
                                    X(CANTSHRINK) X(ALREADYINIT) X(CANTINIT) X(CANTRELEASE) X(CANTCLOSEOBJ)            \
                                        X(CANTOPENOBJ) X(COMPLEN) X(PATH) X(CANTATTACH) X(CANTCOMPUTE) X(CANTEXTEND)   \
                                            X(CANTOPERATE) X(CANTRESTORE) X(CANTUPDATE) X(BADGROUP) X(BADID) X(        \
                                                CANTDEC) X(CANTINC) X(CANTREGISTER) X(NOIDS) X(CANTMOVE) X(CANTSORT)   \
                                                X(NLINKS) X(NOTREGISTERED) X(TRAVERSE) X(CANTPUT)                      \
                                                    X(CANTGATHER) X(CANTRECV) X(MPI) X(MPIERRSTR) X(NO_INDEPENDENT) X( \
                                                        NONE_MINOR) X(ALIGNMENT) X(BADITER)                            \
                                                        X(BADMESG) X(CANTDELETE) X(CANTPACK) X(CANTRENAME) X(          \
                                                            CANTRESET) X(LINKCOUNT) X(VERSION) X(CALLBACK) X(CANAPPLY) \
                                                            X(CANTFILTER) X(NOENCODER) X(NOFILTER) X(SETLOCAL)         \
                                                                X(CANTGET) X(CANTSET) X(DUPCLASS) X(SETDISALLOWED)     \
                                                                    X(OPENERROR) X(ALREADYEXISTS)                      \
                                                                        X(CANTALLOC) X(CANTCOPY) X(CANTFREE) X(CANTGC) \
                                                                            X(CANTGETSIZE) X(CANTLOCK) X(CANTUNLOCK)   \
                                                                                X(NOSPACE) X(OBJOPEN) X(SYSERRSTR)     \
                                                                                    X(BADSIZE) X(CANTCONVERT)

#endif
